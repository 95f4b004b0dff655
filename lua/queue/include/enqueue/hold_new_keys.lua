-- hold_new_keys(now, fields): store the idempotency keys of new tasks, as hold_keys does for each, and delete some that have
-- expired, as sweep_once does. fields: as new_keys returns them.
local function hold_new_keys(now, fields)
  local until_text = string.format('%.0f', now + (redis.call('HGET', config, 'idempotency_ms') or DEFAULT_idempotency_ms))
  local by_time = {}
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
end
