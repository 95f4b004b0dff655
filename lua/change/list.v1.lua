-- change.list.v1: a page of changes, the newest first: all of a state, or of an author, a reviewer (`user:…` or `group:…`), a resource, a
-- team or a tag. A reviewer has requests, or has delegated them, as of the last move. `cursor` is what the last page answered, empty to
-- begin; an empty cursor in the answer means that there is no more.
--
-- ARGV   by       enum state|author|reviewer|resource|team|tag
-- ARGV   value    label
-- ARGV   cursor   bytes 0..300  ?=
-- ARGV   limit    int 1..100    ?=20
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int cursor:text items:list(item)
-- EACH   item     found id:id state:text rev:int overdue:int summary:pairs(summary)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   3 commands; at most 230 commands, 4,600 steps

local ctx, refused = open()
if refused then return refused end
local set = ({ state = states, author = by_author, reviewer = by_reviewer, resource = by_resource, team = by_team, tag = by_tag })[by] .. value
local start = start_of(set, cursor)
if not start then return refuse('cursor', cursor, 'empty, or what the page before answered') end
local page = redis.call('ZRANGE', set, start, start + limit - 1, 'REV', 'WITHSCORES')
local items = {}
for i = 1, #page, 2 do
  local own = read_change(page[i])
  items[#items + 1] = own and { 'found', own.id, own.state, own.rev, is_overdue(ctx, own) and 1 or 0, summary_of(own) } or nil
end
return { 'ok', ctx.now, #page == 2 * limit and page[#page] .. ' ' .. page[#page - 1] or '', items }
