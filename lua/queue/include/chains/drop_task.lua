-- drop_task(ctx, id): what is left of a task whose record is gone, as an evicting server leaves it; with an alert.
-- EARLY
local function drop_task(ctx, id)
  if ctx.chains and redis.call('EXISTS', dependents .. id) == 1 then note_end(ctx, 'f', id) end
  redis.call('DEL', task .. id, payload .. id, log .. id)
  emit(ctx, 'task.alert', id, 'reason=record_missing')
end
