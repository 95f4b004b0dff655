-- delay_until(ctx, due_ms, id, lane): make a task delayed until due_ms. If that is within 10 s, wake a worker of the
-- lane.
local function delay_until(ctx, due_ms, id, lane)
  redis.call('ZADD', delayed, due_ms, id)
  if due_ms - ctx.now < 10000 then push_due(lane) end
end
