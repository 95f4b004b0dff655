-- rate.release.v1: give leases of concurrency back. A lease that is given back before its hit has arrived does not begin: its hit, if it
-- arrives within a minute, is answered `returned`.
--
-- ARGV   now_ms    int 0..9000000000000  ?=0
-- ITEM   rule      id
-- ITEM   subject   label
-- ITEM   lease     id
-- GROUP  item      1..100
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      released
-- EACH   item      gone
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   use
-- REPLAY state
-- FLAGS  allow-oom
-- COST   2 + 2n commands; at most 230 commands, 2,300 steps

local ctx, refused = open()
if refused then return refused end
local items = {}
for i = 1, item_count do
  local key = leases .. item_rule[i] .. '|' .. item_subject[i]
  local until_ms = redis.call('ZSCORE', key, item_lease[i])
  items[i] = { until_ms and tonumber(until_ms) > ctx.now and 'released' or 'gone' }
  if until_ms then
    redis.call('ZREM', key, item_lease[i])
  elseif redis.call('SET', answers .. item_lease[i], string.format('%.0f returned ', ctx.now + WAIT_rid_ms), 'NX') then
    expire_in(answers .. item_lease[i], WAIT_rid_ms)
  end
end
return { 'ok', ctx.now, items }
