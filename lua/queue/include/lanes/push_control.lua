-- push_control(ctx, name): leave a wake-up for a worker. It expires if no worker waits for it.
local function push_control(ctx, name)
  ctx.called = ctx.called or {}
  if ctx.called[name] then return end
  ctx.called[name] = true
  if redis.call('EXISTS', control .. name) == 0 then redis.call('LPUSH', control .. name, '1') end
  redis.call('PEXPIRE', control .. name, 60000)
end
