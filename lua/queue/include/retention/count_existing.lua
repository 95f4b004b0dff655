-- count_existing(prefix, names): how many of the keys with this prefix and one of these names exist.
local function count_existing(prefix, names)
  local keys, found = {}, 0
  for i, name in ipairs(names) do keys[i] = prefix .. name end
  for first = 1, #keys, 7000 do found = found + redis.call('EXISTS', unpack(keys, first, math.min(first + 6999, #keys))) end
  return found
end
