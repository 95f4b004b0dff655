-- over_time(conf, id, started_ms): for how many ms a task has run beyond its timeout; below 0 if it has not, or has none.
-- How long its lease is renewed for all that is conf.grace_ms then.
-- NEEDS config task
local function over_time(conf, id, started_ms)
  local timeout_ms = redis.call('HGET', task .. id, 'timeout_ms')
  if not timeout_ms or conf.now < started_ms + timeout_ms then return -1 end
  conf.grace_ms = conf.grace_ms or tonumber(redis.call('HGET', config, 'timeout_grace_ms') or DEFAULT_timeout_grace_ms)
  return conf.now - started_ms - timeout_ms
end
