-- count_times(name, times): count times (ms) in the buckets of a histogram and in its sum, as observe and write_counts do.
local function count_times(name, times)
  local buckets, sum = {}, 0
  for i = 1, #times do
    local ms, bound = times[i], 1
    while bound < ms and bound < 2147483648 do bound = bound * 2 end  -- at most 31: doublings
    buckets[bound] = (buckets[bound] or 0) + 1
    if ms > 0 then sum = math.min(sum + ms, 1e15) end
  end
  for bound, count in pairs(buckets) do redis.call('HINCRBY', counters, name .. ':' .. bound, count) end
  if sum > 0 then redis.call('HINCRBY', counters, name .. '_sum', sum) end
end
