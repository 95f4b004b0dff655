-- trim_set(conf, set, keep_ms, max, limit): delete the oldest ended tasks beyond an age (nil: none) and a number, at most
-- limit; their ids.
-- NEEDS remove_task
local function trim_set(conf, set, keep_ms, max, limit)
  local gone, excess = {}, math.min(redis.call('ZCARD', set) - max, limit)
  if keep_ms then
    gone = redis.call('ZRANGE', set, '-inf', conf.now - keep_ms, 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
  end
  if 2 * excess > #gone then gone = redis.call('ZRANGE', set, 0, excess - 1, 'WITHSCORES') end
  local ids = {}
  for i = 1, #gone, 2 do
    ids[#ids + 1] = gone[i]
    remove_task(conf, gone[i], tonumber(gone[i + 1]), 'trimmed')
  end
  if #ids > 0 then redis.call('ZREM', set, unpack(ids)) end
  return ids
end
