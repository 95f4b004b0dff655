-- end_leases(ctx, ids): nobody holds these tasks any more.
local function end_leases(ctx, ids)
  if #ids == 0 then return end
  if ctx.limits then free_limits(ctx, ids) end
  -- at most 1,000: items, or leases of a sweep
  redis.call('HDEL', running, unpack(ids))
  redis.call('ZREM', leases, unpack(ids))
end
