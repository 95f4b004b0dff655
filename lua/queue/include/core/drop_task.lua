-- drop_task(ctx, id): delete what is left of a task whose record is gone, as an evicting server leaves it; with an alert.
local function drop_task(ctx, id)
  on_drop(ctx, id)
  redis.call('DEL', task .. id, payload .. id, log .. id)
  emit(ctx, 'task.alert', id, 'reason=record_missing')
end
