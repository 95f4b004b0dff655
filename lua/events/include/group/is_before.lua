-- is_before(one, other): whether an id of the stream is smaller than another.
local function is_before(one, other)
  local ms, number = string.match(one, '^(%d+)-(%d+)$')
  local other_ms, other_number = string.match(other, '^(%d+)-(%d+)$')
  if ms == other_ms then return tonumber(number) < tonumber(other_number) end
  return tonumber(ms) < tonumber(other_ms)
end
