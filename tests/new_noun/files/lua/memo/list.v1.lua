-- memo.list.v1: a page of the memos, in the order in which they expire. `cursor` is what the last page answered, empty to
-- begin; an empty cursor in the answer means that there is no more.
--
-- ARGV   cursor   bytes 0..300  ?=
-- ARGV   limit    int 1..100    ?=20
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int cursor:text items:list(item)
-- EACH   item     found id:id expires_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   3 commands; at most 120 commands, 20,000 steps

local ctx, refused = open()
if refused then return refused end
local start = 0
if cursor ~= '' then
  local score, id = string.match(cursor, '^(%d+) (%S+)$')
  if not score then return refuse('cursor', cursor, 'empty, or what the page before answered') end
  start = rank_after(expiring, score, id)
end
local page = redis.call('ZRANGE', expiring, start, start + limit - 1, 'WITHSCORES')
local items, last = {}, ''
for i = 1, #page, 2 do items[#items + 1] = { 'found', page[i], tonumber(page[i + 1]) } end
if #items == limit then last = page[#page] .. ' ' .. page[#page - 1] end
return { 'ok', ctx.now, last, items }
