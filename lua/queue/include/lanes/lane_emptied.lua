-- lane_emptied(ctx, lane): no task is in line there any more. Its token goes; one that may be there for a time goes by itself.
-- How far its users have come, where shares are fair or were, is forgotten after a day; after 30 days if there are limits, because
-- tasks of the lane may wait for one.
local function lane_emptied(ctx, lane)
  redis.call('SREM', lanes, lane)
  if ctx.settings.fair > 0 or ctx.settings.fair_top > 0 then redis.call('EXPIRE', shares .. lane, ctx.settings.limits > 0 and 2592000 or 86400) end
  if redis.call('EXISTS', delayed, deadlines) == 0 then
    redis.call('DEL', wake .. lane)
  else
    redis.call('PEXPIRE', wake .. lane, 60000)
  end
end
