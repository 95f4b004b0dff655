-- close(ctx): the end of a call that may have ended tasks: tell those that wait for the ends, keep the ended tasks within their
-- numbers, and store what the call has counted.
local function close(ctx)
  if ctx.noted then propagate_ends(ctx, 100) end
  retain(ctx)
  write_counts(ctx)
end
