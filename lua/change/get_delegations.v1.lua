-- change.get_delegations.v1: the delegations of a person, by the bytes of their names, and how many pending requests it has delegated.
--
-- ARGV   user     label
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int away:int items:list(item)
-- EACH   item     found name:text delegation:pairs(delegation)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   3 commands; at most 31 commands, 3,100 steps

local ctx, refused = open()
if refused then return refused end
local names, items = redis.call('HKEYS', delegations .. user), {}  -- at most 17: delegations of a person, and `#at`
table.sort(names, bytes_before)
for _, name in ipairs(names) do  -- at most 17: likewise
  local fields, pairs_of = read_delegation(user, name), {}
  for field, value in pairs(fields or {}) do
    pairs_of[#pairs_of + 1] = field
    pairs_of[#pairs_of + 1] = value
  end
  items[#items + 1] = fields and { 'found', name, pairs_of } or nil
end
return { 'ok', ctx.now, redis.call('ZCARD', away .. user), items }
