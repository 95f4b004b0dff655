-- await_others(ctx, id, own, place, by_index): let a new task wait until others have ended: the tasks of `after`, which
-- exist; `gather` children, which may come later; or the earlier tasks of its ordering key. An end from before is noted
-- as if it happened now. Notes its place in `blocked` for the caller's ZADD. Returns for how many ends it waits.
local function await_others(ctx, id, own, place, by_index)
  local seen, awaits = {}, own.gather or (own.behind and 1 or 0)
  for _, other in ipairs(own.after or {}) do
    if not seen[other] then
      seen[other], awaits = true, awaits + 1
      redis.call('ZADD', dependents .. other, place, id)
      make_awaited(ctx, other)
    end
  end
  line_up(by_index, blocked, (own.priority or 5) * BAND + place, id)
  if own.expires_at_ms then redis.call('ZADD', deadlines, own.expires_at_ms, id) end
  begin_chains(ctx)
  return awaits
end
