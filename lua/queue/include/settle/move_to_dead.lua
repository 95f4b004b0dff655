-- move_to_dead(ctx, event, id, reason, tied, error, shown): move a task to the dead set. The caller has removed it from
-- its set, and writes the reason and the error into the record. shown: further words of the event, or nil.
local function move_to_dead(ctx, event, id, reason, tied, error, shown)
  if tied then on_end(ctx, id, 'dead ' .. reason, error or '') end
  redis.call('ZADD', dead, ctx.now, id)
  emit(ctx, event, id, 'reason=' .. reason .. (shown or ''))
  add_count(ctx, 'dead', 1)
end
