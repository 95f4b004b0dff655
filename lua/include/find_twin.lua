-- find_twin(conf, own, stamp): the task that stands for a new one, and by what: by what this call was answered before
-- (rid), its idempotency key (key), its scope, or its unique key; nil if none does.
-- NEEDS once task
local function find_twin(conf, own, stamp)
  local names = { 'rid', 'key', 'scope', 'unique' }
  local found = redis.call('HMGET', once, 'rid:' .. stamp, 'key:' .. (own.idempotency_key or ''),
    'scope:' .. (own.scope or ''), 'unique:' .. (own.unique or ''))
  for i, name in ipairs(names) do
    local id, until_ms, stamp = string.match(found[i] or '', '^(%S+) ?(%d*) ?(%S*)$')
    if stamp and stamp ~= '' and redis.call('HEXISTS', once, 'purged:' .. stamp) == 1 then id = nil end
    -- Of a task that was evicted a key may be left.
    local stands = id and (until_ms ~= '' and tonumber(until_ms) > conf.now
      or until_ms == '' and redis.call('HEXISTS', task .. id, 'created_ms') == 1)
    if stands then return id, name end
  end
end
