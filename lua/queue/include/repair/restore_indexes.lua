-- restore_indexes(id, record): add a task to the indexes by user, tag and parent.
local function restore_indexes(id, record)
  if record.user then redis.call('ZADD', by_user .. record.user, record.created_ms, id) end
  for tag in string.gmatch(record.tags or '', '[^,]+') do redis.call('ZADD', by_tag .. tag, record.created_ms, id) end
  if record.parent then redis.call('ZADD', children .. record.parent, record.created_ms, id) end
end
