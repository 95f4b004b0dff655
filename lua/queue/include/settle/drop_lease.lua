-- drop_lease(ctx, id, held): end what is left of a lease, an entry of `running` or nil. Mark the queues of its limits,
-- so that the next claims drain them.
local function drop_lease(ctx, id, held)
  for _, key in ipairs(held_limits(held)) do
    redis.call('ZREM', holding .. key, id)
    redis.call('ZADD', limit_lines, 'XX', 'LT', ctx.now - BAND, key)
  end
  redis.call('HDEL', running, id)
  redis.call('ZREM', leases, id)
end
