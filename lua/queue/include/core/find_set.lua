-- find_set(id, record): the set that a task is in, and its score there; nil if it is in none or has no record.
local function find_set(id, record)
  if not record then return nil end
  for _, set in ipairs({ ready .. (record.lane or 'any'), leases, finished, delayed, dead, blocked }) do
    local score = redis.call('ZSCORE', set, id)
    if score then return set, score end
  end
end
