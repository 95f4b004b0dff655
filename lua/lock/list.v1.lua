-- lock.list.v1: return a page of the requests that hold or wait: all, or those of an owner, of an agent, or for
-- resources of a type (`<type>:<id>`). `cursor` is the cursor of the last page, '' at first; an empty cursor in the
-- answer means that this was the last page. The order is by resource, unless an owner or agent is named; a request for
-- several resources comes once. A page may hold fewer requests than limit, especially if they have many locks each.
-- `locks` is as in show.
--
-- ARGV   of_type   name           ?=
-- ARGV   owner     id             ?=
-- ARGV   agent     id             ?=
-- ARGV   state     enum all|held|waiting ?=all
-- ARGV   cursor    bytes 0..1000  ?=
-- ARGV   limit     int 1..1000    ?=100
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN ok        now_ms:int cursor:text items:list(item)
-- EACH   item      found rid:id state:text owner:id agent:id priority:int since_ms:int born_ms:int ttl_ms:int until_ms:int granted_ms:int deadline_ms:int place:int locks:text purpose:bytes
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   4 + 3n commands, and one for each lock of a waiter; ends at 20 x limit; at most 2,300 commands, 83,000 steps

local ctx, refused = open_domain({})
if refused then return refused end
local range = agent ~= '' and 'a ' .. agent .. ' ' or owner ~= '' and 'o ' .. owner .. ' '
  or of_type ~= '' and 'r ' .. of_type .. ':' or 'r '
if cursor ~= '' and string.sub(cursor, 1, #range) ~= range then
  return refuse('cursor', cursor, 'empty, or what the page before answered to the same filter')
end
local page = redis.call('ZRANGE', graph, cursor ~= '' and '(' .. cursor or '[' .. range, '(' .. range .. '~', 'BYLEX',
  'LIMIT', 0, limit)
local answers = {}
local last, work = #page == limit and page[#page] or '', 20 * limit
for _, member in ipairs(page) do
  local rid = string.match(member, '^.* (%S+)$')
  local request = read_request(record_of(ctx, rid))
  local waits, first = request.order ~= '-', nil
  for _, part in ipairs(request.parts) do
    local stands = not waits or part.fence == '0' -- what rests on another hold has no place of its own
    local typed = of_type == '' or string.sub(part.resource, 1, #of_type + 1) == of_type .. ':'
    if stands and typed then first = first or part.resource end
  end
  local resource = string.match(member, '^r (%S+)') or string.match(member, '^o %S+ %l (%S+)') or first
  local wanted = (owner == '' or request.owner == owner)
    and (state == 'all' or (state == 'waiting') == waits)
  work = work - 4 - #request.parts
  if wanted and first and resource == first then
    answers[#answers + 1] = describe(rid, request)
    work = work - #request.parts
  end
  if work <= 0 and member ~= page[#page] then
    last = member
    break
  end
end
return { 'ok', ctx.now, last, answers }
