-- drop_lease(id, held): end what is left of a lease, an entry of `running` or nil, without a look at the lines of its limits:
-- a sweep sees to these within 5 s.
-- NEEDS running leases holding
local function drop_lease(id, held)
  for key in string.gmatch(held and string.match(held, '^[^|]* limits=([^ |]+)') or '', '[^,]+') do
    redis.call('ZREM', holding .. key, id)
  end
  redis.call('HDEL', running, id)
  redis.call('ZREM', leases, id)
end
