-- move_to_dead(ctx, event, id, reason, tied, error, shown): move a task to the dead set; the caller has taken it out of the
-- set it was in, and writes the reason and the error into the record. shown: what the event says besides the reason, or nil.
local function move_to_dead(ctx, event, id, reason, tied, error, shown)
  if tied then on_end(ctx, id, 'dead ' .. reason, error or '') end
  redis.call('ZADD', dead, ctx.now, id)
  emit(ctx, event, id, 'reason=' .. reason .. (shown or ''))
  add_count(ctx, 'dead', 1)
end
