-- find_duplicate(ctx, own, stamp): find the task that a new one duplicates, and by what: an earlier answer of this call
-- (rid), its idempotency key (key), its scope, or its unique key. The third value: a later item of this call made that
-- task. nil if it is no duplicate.
local function find_duplicate(ctx, own, stamp)
  local names = { 'rid', 'key', 'scope', 'unique' }
  local found = redis.call('HMGET', once, 'rid:' .. stamp, 'key:' .. (own.idempotency_key or ''),
    'scope:' .. (own.scope or ''), 'unique:' .. (own.unique or ''))
  for i, name in ipairs(names) do
    local id, until_ms, made_by = string.match(found[i] or '', '^(%S+) ?(%d*) ?(%S*)$')
    if made_by and made_by ~= '' and redis.call('HEXISTS', once, 'purged:' .. made_by) == 1 then id = nil end
    local asked = id and i > 1 and (until_ms == '' or own.after or own.needs_parent or ctx.moved)
    local row = asked and redis.call('HMGET', task .. id, 'created_ms', 'rid') or {}
    -- The key of an evicted task may still be stored.
    local stands = id and (until_ms ~= '' and tonumber(until_ms) > ctx.now or until_ms == '' and row[1])
    if stands then return id, name, is_later(row[2], stamp) end
  end
end
