-- push_wake(ctx, lane): leave a token for a blocked worker; at most one, for it is a hint and not the task.
local function push_wake(ctx, lane)
  if (ctx.mode or ctx.settings.mode) == 'paused' then return end
  if redis.call('EXISTS', wake .. lane) == 0 then redis.call('LPUSH', wake .. lane, '1') end
end
