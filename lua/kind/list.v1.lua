-- kind.list.v1: a page of the kinds with their schemas, in the order in which they expire. `cursor` is what the last page
-- answered, empty to begin; an empty cursor in the answer means that there is no more. A kind that is published
-- meanwhile is listed, in rare cases twice. With an `id`, only this kind is returned, and no cursor.
--
-- ARGV   id       id            ?=
-- ARGV   cursor   bytes 0..300  ?=
-- ARGV   limit    int 1..50     ?=20
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int cursor:text items:list(item)
-- EACH   item     found id:id kind:pairs(kind)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   4 + n commands; at most 59 commands, 170 steps

local ctx, refused = open()
if refused then return refused end
if id ~= '' then
  local is_known = tonumber(redis.call('ZSCORE', expiring, id) or 0) > ctx.now
  return { 'ok', ctx.now, '', { is_known and { 'found', id, redis.call('HGETALL', kind .. id) } or nil } }  -- at most 6: fields of a kind
end
local start = redis.call('ZCOUNT', expiring, '-inf', ctx.now_text)  -- what has expired is listed no more
if cursor ~= '' then
  local score, id = string.match(cursor, '^(%d+) (%S+)$')
  if not score then return refuse('cursor', cursor, 'empty, or what the page before answered') end
  start = math.max(start, rank_after(expiring, score, id))
end
local page = redis.call('ZRANGE', expiring, start, start + limit - 1, 'WITHSCORES')
local items, last = {}, ''
for i = 1, #page, 2 do
  items[#items + 1] = { 'found', page[i], redis.call('HGETALL', kind .. page[i]) }  -- at most 6: fields of a kind
end
if #items == limit then last = page[#page] .. ' ' .. page[#page - 1] end
return { 'ok', ctx.now, last, items }
