-- cancel_task(ctx, id, tied, detail): end a task as cancelled; the caller has taken it out of the set it was in.
-- EARLY
local function cancel_task(ctx, id, tied, detail)
  if tied then on_end(ctx, id, 'cancelled', '') end
  redis.call('HSET', task .. id, 'cancelled_ms', ctx.now_text)
  redis.call('ZADD', finished, ctx.now, id)
  emit(ctx, 'task.cancelled', id, detail or '')
  add_count(ctx, 'cancelled', 1)
  ctx.ended = ctx.ended + 1
end
