-- end_leases(conf, ids): nobody holds these tasks any more.
local function end_leases(conf, ids)
  if #ids == 0 then return end
  if conf.limits then free_limits(conf, ids) end
  -- at most 1,000: items, or leases of a sweep
  redis.call('HDEL', running, unpack(ids))
  redis.call('ZREM', leases, unpack(ids))
end
