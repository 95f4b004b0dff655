-- place_by_age(lane, band, id, record): a place for a task whose own is unknown: behind the tasks of its lane and band
-- that were enqueued before it. Tasks of one millisecond are ordered by call, index and id.
local function place_by_age(lane, band, id, record)
  local set = ready .. lane
  local function is_older(other)
    local row = redis.call('HMGET', task .. other, 'created_ms', 'rid')
    local call, at = string.match(record.rid or '', '^(.-)/?(%d*)$')
    local other_call, other_at = string.match(row[2] or '', '^(.-)/?(%d*)$')
    if row[1] ~= record.created_ms then return tonumber(row[1] or 0) < tonumber(record.created_ms) end
    if call ~= other_call then return other_call < call end
    if at ~= other_at then return tonumber('0' .. other_at) < tonumber('0' .. at) end
    return other < id
  end
  local first = redis.call('ZCOUNT', set, '-inf', string.format('(%.0f', band * BAND))
  local low, high = first, redis.call('ZCOUNT', set, '-inf', string.format('(%.0f', (band + 1) * BAND))
  while low < high do  -- at most 53: halvings
    local middle = math.floor((low + high) / 2)
    if is_older(redis.call('ZRANGE', set, middle, middle)[1]) then low = middle + 1 else high = middle end
  end
  local around = redis.call('ZRANGE', set, math.max(low - 1, 0), low, 'WITHSCORES')
  local place, behind = 1, around[low > 0 and 4 or 2]
  if low > first then place = around[2] % BAND + 1 end
  if behind and math.floor(behind / BAND) == band then place = math.min(place, behind % BAND) end
  return place
end
