-- await_others(ctx, id, own, place): let a new task wait until others have ended: the tasks of `after`, which exist;
-- `gather` children, which may come later; or the earlier tasks of its ordering key. An end from before is noted as if
-- it happened now.
local function await_others(ctx, id, own, place)
  local seen, awaits = {}, own.gather or (own.behind and 1 or 0)
  for _, other in ipairs(own.after or {}) do
    if not seen[other] then
      seen[other], awaits = true, awaits + 1
      redis.call('ZADD', dependents .. other, place, id)
      make_awaited(ctx, other)
    end
  end
  redis.call('HSET', task .. id, 'awaits', awaits)
  redis.call('ZADD', blocked, (own.priority or 5) * BAND + place, id)
  if own.expires_at_ms then redis.call('ZADD', deadlines, own.expires_at_ms, id) end
  begin_chains(ctx)
end
