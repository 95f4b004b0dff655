-- held_limits(lease): the keys of the limits that a lease holds, an entry of `running` or nil, with commas between them. Plain searches,
-- because an entry may have 5 KB, which a pattern goes over more than once.
local function held_limits(lease)
  local from = lease and string.find(lease, ' limits=', 1, true)
  if not from then return '' end
  local bar = string.find(lease, '|', from + 8, true) or 0
  return string.match(string.sub(lease, from + 8, bar - 1), '^%S*')
end
