-- delay_until(due_ms, id, lane): put a task aside; wake a worker whose block would outlast the new earliest due time.
-- NEEDS delayed push_wake
local function delay_until(due_ms, id, lane)
  local head = redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')
  redis.call('ZADD', delayed, due_ms, id)
  if not head[1] or due_ms < tonumber(head[2]) then push_wake(lane) end
end
