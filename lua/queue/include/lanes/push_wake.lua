-- push_wake(ctx, lane): push a wake-up token for a blocked worker. One is enough: it is a hint, not a task.
local function push_wake(ctx, lane)
  if (ctx.mode or ctx.settings.mode) == 'paused' then return end
  if redis.call('EXISTS', wake .. lane) == 0 then redis.call('LPUSH', wake .. lane, '1') end
end
