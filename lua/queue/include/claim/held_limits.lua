-- held_limits(lease): the keys of the limits that a lease holds, separated by commas. lease: an entry of `running`, or
-- nil. It uses plain searches, because a pattern would scan an entry of 5 KB several times.
local function held_limits(lease)
  local from = lease and string.find(lease, ' limits=', 1, true)
  if not from then return '' end
  local bar = string.find(lease, '|', from + 8, true) or 0
  return string.match(string.sub(lease, from + 8, bar - 1), '^%S*')
end
