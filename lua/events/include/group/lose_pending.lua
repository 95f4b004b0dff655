-- lose_pending(own, begin): give up the pending events of a group that were trimmed: those before the first event of the stream, or all of
-- them if it is false. Nobody can read them again, so they belong to the gap that this read reports.
local function lose_pending(own, begin)
  local begin_ms, begin_number = string.match(begin or '', '^(%d+)-(%d+)$')
  begin_number = tonumber(begin_number or nil)
  local lost, from, from_ms, from_number, to, to_ms, to_number = {}, nil, nil, nil, nil, nil, nil
  local before = redis.call('ZRANGE', unacked .. group, '-inf', begin_ms or '+inf', 'BYSCORE', 'LIMIT', 0, 10000)  -- all: no more are pending
  for _, id in ipairs(before) do
    local ms, number = string.match(id, '^(%d+)-(%d+)$')
    number = tonumber(number)
    if ms ~= begin_ms or number < begin_number then
      lost[#lost + 1] = id
      -- The set has them by their first part. Those of one millisecond are in the order of texts.
      if not from or (ms == from_ms and number < from_number) then from, from_ms, from_number = id, ms, number end
      if ms ~= to_ms or number > to_number then to, to_ms, to_number = id, ms, number end
    end
  end
  for first = 1, #lost, 7000 do
    redis.call('ZREM', pending .. group, unpack(lost, first, math.min(first + 6999, #lost)))
    redis.call('ZREM', unacked .. group, unpack(lost, first, math.min(first + 6999, #lost)))
  end
  if from then add_gap(own, from, to, #lost) end
end
