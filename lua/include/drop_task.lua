-- drop_task(conf, id): what is left of a task whose record is gone, as an evicting server leaves it; with an alert.
-- NEEDS task payload emit
local function drop_task(conf, id)
  redis.call('DEL', task .. id, payload .. id)
  emit(conf, 'task.alert', id, 'reason=record_missing')
end
