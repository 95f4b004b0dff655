-- hold_keys(conf, id, own, is_twin): let a task stand for what its envelope says is to be there only once: the idempotency
-- key for its time, the others (not for a twin, which has its own) until they are untied.
-- NEEDS config task hold_once
local function hold_keys(conf, id, own, is_twin)
  if own.idempotency_key then
    conf.keep_ms = conf.keep_ms or redis.call('HGET', config, 'idempotency_ms') or DEFAULT_idempotency_ms
    hold_once(conf, 'key:' .. own.idempotency_key, id, conf.keep_ms)
    if is_twin then redis.call('HSETNX', task .. id, 'idempotency_key', own.idempotency_key) end
  end
  if own.unique and not is_twin then hold_once(conf, 'unique:' .. own.unique, id) end
  if own.scope and not is_twin then hold_once(conf, 'scope:' .. own.scope, id) end
end
