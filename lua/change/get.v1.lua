-- change.get.v1: changes by their ids, as they are stored, with their parameters; on demand with their preview and output, their requests
-- and the last entries of their log: then of at most 20 changes, and at most 1,000 entries in all. `overdue`: the review is over by
-- time, though no call has noted it yet. The counts are those of the requests of this round.
--
-- ARGV   with_texts bool          ?=0
-- ARGV   with_requests bool          ?=0
-- ARGV   with_log int 0..1000   ?=0
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- ITEM   id       name
-- GROUP  item     1..100
-- RETURN ok       now_ms:int items:list(item)
-- EACH   item     found change:pairs(change) overdue:int approved:int rejected:int pending:int parameters:bytes preview:bytes output:bytes requests:list(one) log:list(step)
-- EACH   item     not_found
-- EACH   one      request slot:int reviewer:text request:pairs(request)
-- EACH   step     entry entry:pairs(entry)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   2 + 5n commands; at most 840 commands, 6,100 steps

local ctx, refused = open()
if refused then return refused end
if item_count > 20 and (with_texts or with_requests or with_log > 0) then
  return refuse('item', item_count .. ' items', 'at most 20 with their texts, requests or log')
end
if item_count * with_log > 1000 then
  return refuse('with_log', with_log, 'at most 1000 entries in a call: ' .. math.floor(1000 / item_count) .. ' for each change')
end
local items = {}
for i, id in ipairs(item_id) do
  local own = read_change(id)
  items[i] = own and describe(ctx, own) or { 'not_found' }
end
return { 'ok', ctx.now, items }
