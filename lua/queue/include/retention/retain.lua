-- retain(ctx): after tasks have ended, delete the oldest ended tasks above the maximum number. trim_ended handles the
-- maximum age. A deletion has costs of its own, which single ends share: it waits for up to 100 finished tasks, at most a
-- twentieth of the maximum. Claims delete the rest once a second.
local function retain(ctx)
  ctx.work = math.max(ctx.work, 50) + 25 * (ctx.ended + (ctx.counts.dead or 0))  -- as many go as come, whatever they have
  local max = ctx.settings.finished_max
  if ctx.ended > 0 and redis.call('ZCARD', finished) > max + math.min(100, math.floor(max / 20)) then
    trim_set(ctx, finished, nil, max, 100 + ctx.ended)
  end
  if ctx.counts.dead then
    local max = tonumber(redis.call('HGET', config, 'dead_max') or DEFAULT_dead_max)
    trim_set(ctx, dead, nil, max, 100 + ctx.counts.dead)
  end
end
