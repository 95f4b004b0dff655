-- queue.weights.v1: return the weights of users in a queue with fair shares, in percent: of all users with one, or of
-- named users. `cursor` is the cursor of the last page, '' at first; an empty cursor in the answer means that this was
-- the last page.
--
-- ARGV   cursor    bytes 0..19   ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   user      label
-- GROUP  item      0..1000
-- RETURN ok        now_ms:int cursor:text weights:pairs(weights)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   2 or 3 commands, O(n); at most 3 commands, 6,700 steps

local ctx, refused = open()
if refused then return refused end
if not string.find(cursor, '^%d*$') then return refuse('cursor', cursor, 'empty, or what the page before answered') end
if item_count == 0 then
  local page = redis.call('HSCAN', weights, cursor == '' and '0' or cursor, 'COUNT', 500)
  return { 'ok', ctx.now, page[1] ~= '0' and page[1] or '', page[2] }
end
local found, named = redis.call('HMGET', weights, unpack(item_user)), {}  -- at most 1,000: items
for i, user in ipairs(item_user) do named[2 * i - 1], named[2 * i] = user, found[i] or '100' end
return { 'ok', ctx.now, '', named }
