-- drop_lease(ctx, id, held): end what is left of a lease, an entry of `running` or nil. The next claims look at the lines of
-- its limits.
local function drop_lease(ctx, id, held)
  for key in string.gmatch(held_limits(held), '[^,]+') do
    redis.call('ZREM', holding .. key, id)
    redis.call('ZADD', limit_lines, 'XX', 'LT', ctx.now - BAND, key)
  end
  redis.call('HDEL', running, id)
  redis.call('ZREM', leases, id)
end
