-- untie(id): end what a task holds while it waits or runs: its unique key, its scope, its deadline. Only tasks with `ties`
-- in their record have any.
-- NEEDS task once deadlines
local function untie(id)
  redis.call('ZREM', deadlines, id)
  local own = redis.call('HMGET', task .. id, 'unique', 'scope')
  for i, kind in ipairs({ 'unique:', 'scope:' }) do
    local field = own[i] and kind .. own[i]
    if field and redis.call('HGET', once, field) == id then redis.call('HDEL', once, field) end
  end
end
