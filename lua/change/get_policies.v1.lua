-- change.get_policies.v1: policies by name, or all of the domain, in the order of their names.
--
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- ITEM   name     name
-- GROUP  item     0..100
-- RETURN ok       now_ms:int items:list(item)
-- EACH   item     found name:text policy:pairs(policy)
-- EACH   item     unknown name:text
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   3 commands; at most 170 commands, 23,000 steps

local ctx, refused = open()
if refused then return refused end
local names, items = item_name, {}
if item_count == 0 then names = redis.call('HKEYS', policies) end  -- at most 1,000: policies of a domain
table.sort(names, bytes_before)
for i, name in ipairs(names) do  -- at most 1,000: policies of a domain
  local fields, policy = read_policy(name), {}
  for field, value in pairs(fields or {}) do
    policy[#policy + 1] = field
    policy[#policy + 1] = value
  end
  items[i] = fields and { 'found', name, policy } or { 'unknown', name }
end
return { 'ok', ctx.now, items }
