-- leave_line(id, key): remove a task from a limit queue. If the queue is then empty, remove it from limit_lines.
local function leave_line(id, key)
  redis.call('HDEL', task .. id, 'limited_by')
  redis.call('ZREM', waiting .. key, id)
  if redis.call('EXISTS', waiting .. key) == 0 then redis.call('ZREM', limit_lines, key) end
end
