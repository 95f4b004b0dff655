-- trim_set(conf, set, keep_ms, max, limit, tally): delete the oldest of the finished or the dead beyond an age (nil: none)
-- and a number, at most limit; how many. The dead go with an event each.
-- NEEDS dead emit remove_tasks
local function trim_set(conf, set, keep_ms, max, limit, tally)
  local gone, excess = {}, math.min(redis.call('ZCARD', set) - max, limit)
  if keep_ms then
    gone = redis.call('ZRANGE', set, '-inf', conf.now - keep_ms, 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
  end
  if 2 * excess > #gone then gone = redis.call('ZRANGE', set, 0, excess - 1, 'WITHSCORES') end
  if #gone == 0 then return 0 end
  local ids, since = {}, {}
  for i = 1, #gone / 2 do ids[i], since[i] = gone[2 * i - 1], tonumber(gone[2 * i]) end
  remove_tasks(conf, ids, since, 'trimmed')
  for _, id in ipairs(set == dead and ids or {}) do emit(conf, 'task.removed', id, 'reason=retention') end
  redis.call('ZREMRANGEBYRANK', set, 0, #ids - 1)
  local counter = set == dead and 'dropped' or 'trimmed'
  tally[counter] = (tally[counter] or 0) + #ids
  return #ids
end
