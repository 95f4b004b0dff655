-- slots_of(own): the requests of a change, in the order of their slots: { slot, status, reviewer, chain, by }. `chain` has a `>` before each
-- person who has delegated it, the original reviewer first; `by` is the principal who answered. A caller that changes one sets
-- own.list_changed.
-- EARLY
local function slots_of(own)
  if own.list then return own.list end
  local list = {}
  for slot, status, reviewer, chain, by in string.gmatch(own.slots, '(%d+) ([%a_]+) ([^ >]+)(%S*) ([^,]*)') do
    list[#list + 1] = { slot = slot, status = status, reviewer = reviewer, chain = chain, by = by }
  end
  own.list = list
  return list
end
