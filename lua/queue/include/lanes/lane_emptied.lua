-- lane_emptied(ctx, lane): note that no task waits in this lane any more. Its wake token is deleted, but a token for a
-- due time expires by itself.
local function lane_emptied(ctx, lane)
  redis.call('SREM', lanes, lane)
  if ctx.settings.fair > 0 or ctx.settings.fair_top > 0 then redis.call('EXPIRE', shares .. lane, ctx.settings.limits > 0 and 2592000 or 86400) end
  if redis.call('EXISTS', delayed, deadlines) == 0 then
    redis.call('DEL', wake .. lane)
  else
    redis.call('PEXPIRE', wake .. lane, 60000)
  end
end
