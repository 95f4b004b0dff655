-- delay_until(ctx, due_ms, id, lane): put a task aside.
local function delay_until(ctx, due_ms, id, lane)
  redis.call('ZADD', delayed, due_ms, id)
  if due_ms - ctx.now < 10000 then push_due(lane) end
end
