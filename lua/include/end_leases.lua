-- end_leases(ids): nobody holds these tasks any more.
-- NEEDS running leases
local function end_leases(ids)
  if #ids == 0 then return end
  redis.call('HDEL', running, unpack(ids))
  redis.call('ZREM', leases, unpack(ids))
end
