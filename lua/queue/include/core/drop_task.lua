-- drop_task(ctx, id): delete the other keys of a task whose record was evicted, and write an alert event.
local function drop_task(ctx, id)
  on_drop(ctx, id)
  redis.call('DEL', task .. id, payload .. id, log .. id, ended_runs .. id, steps .. id)
  emit(ctx, 'task.alert', id, 'reason=record_missing')
end
