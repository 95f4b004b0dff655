-- new_keys(ids, envelopes, stamps): what hold_new_keys needs of tasks with idempotency keys: a list of a field of `once` and
-- the id in turn. false if a task may be a duplicate: `once` has its key, even if it has expired, or an answer of this call,
-- or another task of the call has the same key.
local function new_keys(ids, envelopes, stamps)
  local asked, fields, seen = {}, {}, {}
  for i = 1, #ids do
    local key = envelopes[i].idempotency_key
    if key then
      if seen[key] then return false end
      seen[key] = true
      asked[#asked + 1] = 'rid:' .. stamps[i]
      asked[#asked + 1] = 'key:' .. key
      fields[#fields + 1] = 'key:' .. key
      fields[#fields + 1] = ids[i]
    end
  end
  local found = redis.call('HMGET', once, unpack(asked))  -- at most 2,000: two for each item
  for i = 1, #asked do
    if found[i] then return false end
  end
  return fields
end
