-- start_tied(ctx, id): at the first lease of a task with ties: delete its scope and its deadline. Returns true if the
-- task has expired.
local function start_tied(ctx, id)
  local own = redis.call('HMGET', task .. id, 'scope', 'expires_at_ms', 'deliveries')
  redis.call('ZREM', deadlines, id)
  local field = own[1] and 'scope:' .. own[1]
  if field and redis.call('HGET', once, field) == id then redis.call('HDEL', once, field) end
  return not own[3] and tonumber(own[2] or MAX_SAFE) <= ctx.now
end
