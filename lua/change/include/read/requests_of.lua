-- requests_of(own): all requests of a change, with their records.
local function requests_of(own)
  local items = {}
  for i, one in ipairs(slots_of(own)) do  -- at most 32: slots
    -- at most 60: fields of a request
    items[i] = { 'request', tonumber(one.slot), one.reviewer, redis.call('HGETALL', requests .. own.id .. '/' .. one.slot) }
  end
  return items
end
