-- join_limit(ctx, id, score, limit, recheck_at_ms, tied): put a task into the queue of a limit, by its place.
-- recheck_at_ms: the new score of the queue in limit_lines, unless it is due earlier. The task may still expire. Its
-- fallback timer stops while it waits for the limit.
local function join_limit(ctx, id, score, limit, recheck_at_ms, tied)
  redis.call('ZADD', blocked, score, id)
  redis.call('ZADD', waiting .. limit.key, score, id)
  redis.call('ZADD', limit_lines, 'LT', recheck_at_ms, limit.key)
  redis.call('HSET', task .. id, 'limited_by', limit.key)
  ctx.in_line[limit.key] = true
  if not tied then return end
  local own = redis.call('HMGET', task .. id, 'expires_at_ms', 'deliveries')
  redis.call('ZREM', deadlines, id)
  if own[1] and not own[2] then redis.call('ZADD', deadlines, own[1], id) end
end
