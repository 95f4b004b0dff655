-- remove_task(conf, id, since_ms, why): delete a task that is in no set any more, with its index entries. What was done to
-- it since then, up to 60 s ago, may still be sent again: for that long a stub remembers its rid and last settlement.
-- NEEDS task payload result log reply by_user by_tag children
local function remove_task(conf, id, since_ms, why)
  local own = redis.call('HMGET', task .. id, 'user', 'tags', 'parent', 'rid', 'settled', 'reply')
  local stale = own[6] and log or reply  -- without a reply of its own, that of an older task of this id
  redis.call('DEL', task .. id, payload .. id, result .. id, log .. id, stale .. id)
  if own[1] then redis.call('ZREM', by_user .. own[1], id) end
  for tag in string.gmatch(own[2] or '', '[^,]+') do redis.call('ZREM', by_tag .. tag, id) end
  if own[3] then redis.call('ZREM', children .. own[3], id) end
  local left_ms = math.min(60000, since_ms + 60000 - conf.now)
  if left_ms <= 0 or not own[4] then return end
  redis.call('HSET', task .. id, 'gone', why, 'rid', own[4])
  if own[5] then redis.call('HSET', task .. id, 'settled', own[5]) end
  redis.call('PEXPIRE', task .. id, string.format('%.0f', left_ms))
end
