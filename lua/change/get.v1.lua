-- change.get.v1: changes by their ids, as they are stored, with their parameters; on demand with their preview and output, their requests
-- and the last entries of their log. `overdue`: the review is over by time, though no call has noted it yet. The counts are those of the
-- requests of this round.
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
-- COST   2 + 5n commands; at most 12 commands, 220 steps

local ctx, refused = open()
if refused then return refused end
local items = {}
for i, id in ipairs(item_id) do
  local own = read_change(id)
  items[i] = own and describe(ctx, own) or { 'not_found' }
end
return { 'ok', ctx.now, items }
