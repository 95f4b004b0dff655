-- over_time(ctx, id, started_ms, tied): how many ms a run has exceeded its timeout (the task's or the queue's); below 0
-- if it has not, or has none. heartbeat renews the lease until this value reaches ctx.grace_ms. Only a task with ties
-- has a timeout of its own.
local function over_time(ctx, id, started_ms, tied)
  local queue_ms = ctx.settings.timeout_ms
  local timeout_ms = tied and redis.call('HGET', task .. id, 'timeout_ms') or queue_ms > 0 and queue_ms
  if not timeout_ms or ctx.now < started_ms + timeout_ms then return -1 end
  if not ctx.grace_ms then
    local row = redis.call('HMGET', config, 'timeout_grace_ms', 'timeout_set_ms')
    ctx.grace_ms, ctx.timeout_set_ms = tonumber(row[1] or DEFAULT_timeout_grace_ms), tonumber(row[2] or 0)
  end
  -- A lower timeout of the queue may be over already when it is set. The grace begins then, so that the worker hears of it.
  if timeout_ms == queue_ms then return ctx.now - math.max(started_ms + timeout_ms, ctx.timeout_set_ms) end
  return ctx.now - started_ms - timeout_ms
end
