-- lock.edges.v1: return a page of the wait-for graph, resource by resource. If a waiter waits for another waiter, the
-- edges that follow from the other's are left out; what can be reached is the same. `cursor` is the cursor of the last
-- page, '' at first; an empty cursor in the answer means that this was the last page. rid and blocker_rid are the
-- stamps of an edge: while both exist, so does the edge. A page ends at its limit, or at its budget. The next page
-- continues there, also inside a resource. Of each resource, it reads the first 1,000 holders and waiters.
--
-- ARGV   cursor    bytes 0..2000  ?=
-- ARGV   limit     int 1..1000    ?=1000
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN ok        now_ms:int cursor:text edges:list(edge)
-- EACH   edge      waits owner:id rid:id resource:id code:text blocker:id blocker_rid:id held:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   4 + 3n commands for n resources; looks at 2,000 commands and edges, two holders or waiters counting as one; at most 6 commands, 12,000 steps

local ctx, refused = open_domain({})
if refused then return refused end
local at, place, nth = string.match(cursor, '^(%S*) ?(%S*) ?(%d*)$')
if not at then return refuse('cursor', cursor, 'empty, or what the page before answered') end
local answers, page = {}, { left = limit, work = 2000 }
for _ = 1, 1000 do
  if page.left <= 0 or page.work <= 0 then break end
  if place == '' then
    at = string.match(redis.call('ZRANGE', graph, '(r ' .. at .. '!', '(r!', 'BYLEX', 'LIMIT', 0, 1)[1] or '', '^r (%S+)') or ''
    if at == '' then break end
    page.work = page.work - 3
  end
  place, nth = edges_of(at, answers, page, place, tonumber(nth))
  if place then return { 'ok', ctx.now, at .. ' ' .. place .. string.format(' %d', nth), answers } end
  place = ''
end
return { 'ok', ctx.now, at, answers }
