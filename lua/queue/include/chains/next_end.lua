-- next_end(ctx): report the ends that are noted, at most 100; the time of those that are left, or MAX_SAFE.
local function next_end(ctx)
  local head = redis.call('ZRANGE', ends, 0, 0, 'WITHSCORES')
  local at_ms = tonumber(head[2] or MAX_SAFE)
  if at_ms > ctx.now and not ctx.notes then return at_ms end
  ctx.told = propagate_ends(ctx, 100)
  if ctx.notes then return ctx.now end
  return tonumber(head[1] and redis.call('ZRANGE', ends, 0, 0, 'WITHSCORES')[2] or MAX_SAFE)
end
