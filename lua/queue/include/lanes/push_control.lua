-- push_control(ctx, name): have a worker ask what is wanted of it, once a call. At most one token; it says only that, and goes
-- by itself where nobody waits for it.
local function push_control(ctx, name)
  ctx.called = ctx.called or {}
  if ctx.called[name] then return end
  ctx.called[name] = true
  if redis.call('EXISTS', control .. name) == 0 then redis.call('LPUSH', control .. name, '1') end
  redis.call('PEXPIRE', control .. name, 60000)
end
