-- over_time(conf, id, started_ms, tied): for how many ms a task has run beyond its own timeout, or the queue's; below 0 if it has
-- not, or has none. Its lease is renewed until this is conf.grace_ms. Only a task with ties has a timeout of its own.
-- NEEDS config task
local function over_time(conf, id, started_ms, tied)
  local timeout_ms = tied and redis.call('HGET', task .. id, 'timeout_ms') or conf.timeout_ms
  if not timeout_ms or conf.now < started_ms + timeout_ms then return -1 end
  conf.grace_ms = conf.grace_ms or tonumber(redis.call('HGET', config, 'timeout_grace_ms') or DEFAULT_timeout_grace_ms)
  return conf.now - started_ms - timeout_ms
end
