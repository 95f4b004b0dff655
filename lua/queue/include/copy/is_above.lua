-- is_above(id, other): whether the id of an event is greater than another one.
local function is_above(id, other)
  local ms, number = string.match(id, '^(%d+)%-(%d+)$')
  local other_ms, other_number = string.match(other, '^(%d+)%-(%d+)$')
  if ms ~= other_ms then return tonumber(ms) > tonumber(other_ms) end
  return tonumber(number) > tonumber(other_number)
end
