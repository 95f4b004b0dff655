-- count_lease(key, mark): give a lease to the rid of the call, and forget leases that have ended. mark: from look_leases. Returns how long
-- the lease lasts.
local function count_lease(key, mark)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', mark.at_ms)
  redis.call('ZADD', key, mark.at_ms + mark.lease_ms, rid)
  expire_in(key, WAIT_longest_lease_ms)  -- as long as any rule lets the leases that are there last
  return mark.lease_ms * 1000
end
