-- trim_set(conf, set, keep_ms, max, limit, tally): delete the oldest of the finished or the dead beyond an age (nil: none)
-- and a number, at most limit; how many. The dead go with an event each.
-- NEEDS dead emit remove_task
local function trim_set(conf, set, keep_ms, max, limit, tally)
  local gone, excess = {}, math.min(redis.call('ZCARD', set) - max, limit)
  if keep_ms then
    gone = redis.call('ZRANGE', set, '-inf', conf.now - keep_ms, 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
  end
  if 2 * excess > #gone then gone = redis.call('ZRANGE', set, 0, excess - 1, 'WITHSCORES') end
  if #gone == 0 then return 0 end
  local ids = {}
  for i = 1, #gone, 2 do
    ids[#ids + 1] = gone[i]
    remove_task(conf, gone[i], tonumber(gone[i + 1]), 'trimmed')
    if set == dead then emit(conf, 'task.removed', gone[i], 'reason=retention') end
  end
  redis.call('ZREM', set, unpack(ids))
  local counter = set == dead and 'dropped' or 'trimmed'
  tally[counter] = (tally[counter] or 0) + #ids
  return #ids
end
