-- chains_on_close(ctx): report the ends of this call to the tasks that wait for them: at most 100, less those that its
-- sweep has reported. If more are left, the time of the next claim is now.
-- WHEN ctx.notes
local function chains_on_close(ctx)
  local left = 100 - ctx.told
  local all = left > 0 and propagate_ends(ctx, left) < left
  store_notes(ctx)
  if ctx.next_ms and not all and redis.call('EXISTS', ends) == 1 then ctx.next_ms = ctx.now end
end
