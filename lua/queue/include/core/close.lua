-- close(ctx): finish a call that may have ended tasks: let features do what is left, keep the ended tasks within their
-- numbers, and store what the call has counted.
local function close(ctx)
  on_close(ctx)
  retain(ctx)
  write_counts(ctx)
end
