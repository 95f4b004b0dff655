-- hold_new_keys(now, ids, envelopes, stamps): store the idempotency keys of new tasks, as hold_keys does for each. Returns
-- false, before any write, if a task may be a duplicate: `once` has its key, even if it has expired, or an answer of this
-- call, or another task of the call has the same key.
local function hold_new_keys(now, ids, envelopes, stamps)
  local asked, fields, by_time, seen = {}, {}, {}, {}
  for i = 1, #ids do
    local key = envelopes[i].idempotency_key
    if key then
      if seen[key] then return false end
      seen[key] = true
      asked[#asked + 1] = 'rid:' .. stamps[i]
      asked[#asked + 1] = 'key:' .. key
      fields[#fields + 1] = 'key:' .. key
      fields[#fields + 1] = ids[i]
    end
  end
  local found = redis.call('HMGET', once, unpack(asked))  -- at most 2,000: two for each item
  for i = 1, #asked do
    if found[i] then return false end
  end
  local until_text = string.format('%.0f', now + (redis.call('HGET', config, 'idempotency_ms') or DEFAULT_idempotency_ms))
  for i = 1, #fields, 2 do
    by_time[i], by_time[i + 1] = until_text, fields[i]
    fields[i + 1] = fields[i + 1] .. ' ' .. until_text
  end
  redis.call('HSET', once, unpack(fields))  -- at most 2,000: two for each item
  redis.call('ZADD', once_due, unpack(by_time))  -- at most 2,000: two for each item
  local expired = redis.call('ZRANGE', once_due, '-inf', now, 'BYSCORE', 'LIMIT', 0, 10 + #fields)
  if #expired > 0 then
    redis.call('ZREM', once_due, unpack(expired))  -- at most 2,010: ten, and two for each item
    redis.call('HDEL', once, unpack(expired))  -- at most 2,010: ten, and two for each item
  end
  return true
end
