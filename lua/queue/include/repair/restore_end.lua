-- restore_end(ctx, id, record, how): put a task that has ended among those that have. When it ended is not known, unless
-- it was cancelled; it is kept as if it ended now. The set that it is in then.
local function restore_end(ctx, id, record, how)
  end_ties(ctx, id, record, how)
  if how == 'dead' then
    redis.call('ZADD', dead, ctx.now, id)
    add_count(ctx, 'dead', 1)
    return 'dead'
  end
  redis.call('ZADD', finished, record.cancelled_ms or ctx.now, id)
  ctx.ended = ctx.ended + 1
  return how == 'cancelled' and 'cancelled' or 'completed'
end
