-- count_existing(keys): how many of these keys exist.
local function count_existing(keys)
  local found = 0
  for first = 1, #keys, 7000 do found = found + redis.call('EXISTS', unpack(keys, first, math.min(first + 6999, #keys))) end
  return found
end
