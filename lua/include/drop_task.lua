-- drop_task(conf, id): what is left of a task whose record is gone, as an evicting server leaves it; with an alert.
-- EARLY
local function drop_task(conf, id)
  if conf.chains and redis.call('EXISTS', dependents .. id) == 1 then note_end(conf, 'f', id) end
  redis.call('DEL', task .. id, payload .. id, log .. id)
  emit(conf, 'task.alert', id, 'reason=record_missing')
end
