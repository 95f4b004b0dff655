-- leave_line(id, key): a task that waited for a limit ends; its place in the line goes with it, and the line with its last one.
local function leave_line(id, key)
  redis.call('HDEL', task .. id, 'limited_by')
  redis.call('ZREM', waiting .. key, id)
  if redis.call('EXISTS', waiting .. key) == 0 then redis.call('ZREM', limit_lines, key) end
end
