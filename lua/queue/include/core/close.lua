-- close(ctx): the end of a call that may have ended tasks: process the notes of ends, delete ended tasks above the
-- maximum number, and store the counters.
local function close(ctx)
  if ctx.noted then propagate_ends(ctx, 100) end
  retain(ctx)
  write_counts(ctx)
end
