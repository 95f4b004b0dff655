-- rate.renew.v1: let leases of concurrency last for `lease_ms` of their rules from now on.
--
-- ARGV   now_ms    int 0..9000000000000  ?=0
-- ITEM   rule      id
-- ITEM   subject   label
-- ITEM   lease     id
-- GROUP  item      1..100
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      renewed deadline_ms:int
-- EACH   item      gone
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   use
-- REPLAY idempotent
-- FLAGS  allow-oom
-- COST   3 + 3n commands; at most 230 commands, 2,900 steps

local now, stored = open_rules(item_rule)
if not now then return stored end
local at_ms, items, lease_ms = math.floor(now / 1000), {}, {}
for i = 1, item_count do
  local algorithm, pace = read_rule(stored[i])
  if algorithm ~= 'concurrency' then
    return refuse('item[' .. i .. '].rule', item_rule[i], 'the name of a rule of concurrency that is stored in this namespace')
  end
  lease_ms[i] = pace + 0
end
for i = 1, item_count do
  local key = leases .. item_rule[i] .. '|' .. item_subject[i]
  local until_ms = redis.call('ZSCORE', key, item_lease[i])
  if until_ms and tonumber(until_ms) > at_ms then
    redis.call('ZADD', key, at_ms + lease_ms[i], item_lease[i])
    expire_in(key, WAIT_longest_lease_ms)
    items[i] = { 'renewed', at_ms + lease_ms[i] }
  else
    items[i] = { 'gone' }
  end
end
return { 'ok', at_ms, items }
