-- memo.get.v1: some memos, by their ids.
--
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- ITEM   id       id
-- GROUP  item     1..100
-- RETURN ok       now_ms:int items:list(item)
-- EACH   item     found memo:pairs(memo)
-- EACH   item     missing
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   2 + n commands; at most 103 commands, 900 steps

local ctx, refused = open()
if refused then return refused end
local items = {}
for i = 1, item_count do
  local record = redis.call('HGETALL', memo .. item_id[i])  -- at most 12: fields of a memo
  items[i] = #record > 0 and { 'found', record } or { 'missing' }
end
return { 'ok', ctx.now, items }
