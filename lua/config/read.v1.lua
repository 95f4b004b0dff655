-- config.read.v1: names, as they are now; or, without names, all that has changed since a rev, in the order of versions. `since` 0: all
-- names with values. What is written between two pages comes in a later page. So who follows the pages to the end has what the server had
-- when it gave the last one, and sends its `rev` as `since` later. `full`: the server does not know what has changed since. It forgets
-- removed names and old revs, or has lost the last writes in a failover. Then read all. A page ends at `limit` or at 1 MiB.
--
-- ARGV   since    int 0..9007199254740991 ?=0
-- ARGV   cursor   bytes 0..300     ?=
-- ARGV   limit    int 1..1000      ?=100
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- ITEM   name     id
-- GROUP  item     0..50
-- RETURN ok       now_ms:int rev:int cursor:text items:list(entry)
-- RETURN full     now_ms:int rev:int
-- EACH   entry    value name:id version:int at_ms:int actor:bytes reason:bytes value:bytes
-- EACH   entry    removed name:id version:int at_ms:int actor:bytes reason:bytes
-- EACH   entry    missing name:id
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   4 commands and 1 for each name; at most 1,200 commands, 15,000 steps

local ctx, refused = open()
if refused then return refused end
local items = {}
if item_count > 0 then
  if since > 0 then return refuse('since', since, '0 with names') end
  if cursor ~= '' then return refuse('cursor', cursor, 'empty with names') end
  for i, name in ipairs(item_name) do items[i] = entry_of(name) end
  return { 'ok', ctx.now, ctx.settings.rev, '', items }
end

local rev = ctx.settings.rev
local since_text, first, start = string.format('%.0f', since), rev, nil
if cursor ~= '' then
  -- the revs of the first page and of the last one, and where that ended
  local first_text, seen_text, score, name = string.match(cursor, '^(%d+) (%d+) (%d+) (%S+)$')
  if not first_text then return refuse('cursor', cursor, 'empty, or what the page before answered') end
  if not knows_rev(ctx, first_text) or not knows_rev(ctx, seen_text) then return { 'full', ctx.now, rev } end
  first, start = tonumber(first_text), rank_after(changed, score, name)
else
  start = redis.call('ZCOUNT', changed, '-inf', since_text)
end
if since > 0 and not knows_rev(ctx, since_text) then return { 'full', ctx.now, rev } end
local page = redis.call('ZRANGE', changed, start, start + limit, 'WITHSCORES')
local size, last = 0, ''
for i = 1, #page, 2 do
  local entry, more = entry_of(page[i])
  size = size + more
  if i == 2 * limit + 1 or size > 1048576 then  -- one name alone is smaller
    last = string.format('%.0f %.0f ', first, rev) .. page[i - 1] .. ' ' .. page[i - 2]
    break
  end
  -- A reader of all knows a removed name only if an earlier page had it.
  if entry[1] == 'value' or since > 0 or tonumber(page[i + 1]) > first then items[#items + 1] = entry end
end
return { 'ok', ctx.now, rev, last, items }
