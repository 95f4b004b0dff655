-- retain(ctx): after tasks have ended, delete the oldest ended tasks above the maximum number. trim_ended handles the
-- maximum age.
local function retain(ctx)
  ctx.work = math.max(ctx.work, 50) + 25 * (ctx.ended + (ctx.counts.dead or 0))  -- as many go as come, whatever they have
  if ctx.ended > 0 and redis.call('ZCARD', finished) > ctx.settings.finished_max then
    trim_set(ctx, finished, nil, ctx.settings.finished_max, 100 + ctx.ended)
  end
  if ctx.counts.dead then
    local max = tonumber(redis.call('HGET', config, 'dead_max') or DEFAULT_dead_max)
    trim_set(ctx, dead, nil, max, 100 + ctx.counts.dead)
  end
end
