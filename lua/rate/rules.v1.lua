-- rate.rules.v1: rules by name, or all of the namespace in any order.
--
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- ITEM   name     id
-- GROUP  item     0..100
-- RETURN ok       now_ms:int items:list(item)
-- EACH   item     found name:text rule:pairs(rule)
-- EACH   item     unknown name:text
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   3 commands; at most 4 commands, 10,000 steps

local ctx, refused = open()
if refused then return refused end
local names, items = item_name, {}
if item_count == 0 then names = redis.call('HKEYS', rules) end  -- at most 1,000: rules of a namespace
local stored = #names > 0 and redis.call('HMGET', rules, unpack(names)) or {}  -- at most 1,000: rules of a namespace
for i, name in ipairs(names) do
  local algorithm, pace, burst, limit, period_ms, on_error, mode, version = read_rule(stored[i])
  items[i] = algorithm and {
    'found', name, {
      'algorithm', algorithm, 'limit', limit, 'period_ms', period_ms, 'burst', burst, 'lease_ms', algorithm == 'concurrency' and pace or '0',
      'on_error', on_error, 'shadow', mode == 'shadow' and '1' or '0', 'version', version,
    },
  } or { 'unknown', name }
end
return { 'ok', ctx.now, items }
