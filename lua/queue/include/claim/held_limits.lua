-- held_limits(lease): the keys of the limits that a lease holds. lease: an entry of `running`, or nil. It uses plain
-- searches: an entry may have 5 KB, and patterns take ten times as long for it.
local function held_limits(lease)
  local keys, from = {}, lease and string.find(lease, ' limits=', 1, true)
  if not from then return keys end
  from = from + 8
  local stop = string.find(lease, '|', from, true) or #lease + 1
  stop = math.min(stop, string.find(lease, ' ', from, true) or stop)
  while from < stop do  -- at most 26: limits of a task
    local comma = math.min(stop, string.find(lease, ',', from, true) or stop)
    keys[#keys + 1] = string.sub(lease, from, comma - 1)
    from = comma + 1
  end
  return keys
end
