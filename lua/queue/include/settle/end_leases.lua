-- end_leases(ctx, ids): end the leases of these tasks.
local function end_leases(ctx, ids)
  if #ids == 0 then return end
  on_unlease(ctx, ids)
  -- at most 1,000: items, or leases of a sweep
  redis.call('HDEL', running, unpack(ids))
  redis.call('ZREM', leases, unpack(ids))
end
