-- chains_on_close(ctx): tell the tasks that wait for ends of this call, as many as its sweep has left. If more are to be told, a
-- claim is to come back at once.
-- WHEN ctx.noted
local function chains_on_close(ctx)
  local left = 100 - ctx.told
  local all = left > 0 and propagate_ends(ctx, left) < left
  if ctx.next_ms and not all and redis.call('EXISTS', ends) == 1 then ctx.next_ms = ctx.now end
end
