-- sweep(ctx): process everything that is due: expired leases, deadlines, delayed tasks, notes of ends (at most 100
-- each) and limit queues (at most 40 + limit). Returns the next due time, without limit queues, or 0.
local function sweep(ctx)
  if ctx.settings.limits > 0 then ctx.steps = math.max(20, math.min(100, 40 + limit, ctx.steps)) end  -- less for few tasks, or after an ack that has opened lines
  local next_ms = next_due(ctx, leases)
  if redis.call('EXISTS', deadlines, delayed) > 0 then
    next_ms = math.min(next_ms, next_due(ctx, deadlines), next_due(ctx, delayed))
  end
  if ctx.settings.chains then next_ms = math.min(next_ms, next_end(ctx)) end
  if ctx.settings.limits > 0 then drain_due_limit_queues(ctx) end
  return next_ms < MAX_SAFE and next_ms or 0
end
