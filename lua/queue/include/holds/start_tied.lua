-- start_tied(ctx, id): end what a task with ties holds only until its first lease, its scope and its deadline. True if it
-- expired before.
local function start_tied(ctx, id)
  local own = redis.call('HMGET', task .. id, 'scope', 'expires_at_ms', 'deliveries')
  redis.call('ZREM', deadlines, id)
  local field = own[1] and 'scope:' .. own[1]
  if field and redis.call('HGET', once, field) == id then redis.call('HDEL', once, field) end
  return not own[3] and tonumber(own[2] or MAX_SAFE) <= ctx.now
end
