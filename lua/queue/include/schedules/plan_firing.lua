-- plan_firing(ctx, next_ms): note when this schedule is due next; 0: never by itself. Blocked workers are woken to
-- learn of it.
-- LATE
local function plan_firing(ctx, next_ms)
  local due_ms = next_ms > 0 and next_ms or MAX_SAFE
  redis.call('ZADD', schedules, string.format('%.0f', due_ms), name)
  redis.call('HSET', schedule .. name, 'next_ms', string.format('%.0f', next_ms))
  if due_ms - ctx.now < 10000 then push_due('any') end
end
