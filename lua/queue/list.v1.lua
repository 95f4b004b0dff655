-- queue.list.v1: return a page of the tasks that match all given conditions: state, user, tag and parent; also kind,
-- reason and source. Payload, result, error and headers are left out. `cursor` is the cursor of the last page, '' at
-- first; an empty cursor in the answer means that this was the last page. The page follows the smallest given set: a
-- user, tag or parent in the order of creation, a state in its own order. A task that stays at its place in that set is
-- listed once, whatever else changes; a running task moves when it is renewed, and may come again. A page may hold
-- fewer tasks than limit, even none: it reads at most 1,000 tasks, and stops at 1 MiB. If only the state `ready` is
-- given, the tasks are those of one lane.
--
-- ARGV   state     enum all|ready|delayed|blocked|running|stalled|completed|cancelled|dead ?=all
-- ARGV   lane      lane          ?=
-- ARGV   user      label         ?=
-- ARGV   tag       label         ?=
-- ARGV   parent    id            ?=
-- ARGV   kind      label         ?=
-- ARGV   reason    name          ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   cursor    bytes 0..256  ?=
-- ARGV   limit     int 1..1000   ?=100
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int cursor:text items:list(item)
-- EACH   item      found id:id state:text at_ms:int place:int record:pairs(task)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   5 + 2n commands in a state, up to 8n by user, tag or parent, O(n log m); at most 360 commands, 34,000 steps

local ctx, refused = open()
if refused then return refused end
local driver, last_score, last_id = string.match(cursor, '^(%l+) (%d+) (%S+)$')
local indexed = user ~= '' or tag ~= '' or parent ~= ''
local set = ({ delayed = delayed, blocked = blocked, running = leases, stalled = leases, completed = finished,
  cancelled = finished, dead = dead })[state]
if state == 'ready' and (lane ~= '' or not indexed) then set = ready .. (lane ~= '' and lane or 'any') end
local named = { state = set, user = user ~= '' and by_user .. user or nil, tag = tag ~= '' and by_tag .. tag or nil,
  parent = parent ~= '' and children .. parent or nil }
if cursor ~= '' and not named[driver or ''] then
  return refuse('cursor', cursor, 'empty, or what the page before answered to the same filter')
end
if not set and not indexed then return refuse('state', state, 'a state, where no user, tag or parent is named') end

local from, start = nil, 0
if driver then
  from = named[driver]
  start = rank_after(from, last_score, last_id)
else
  driver, from = narrowest(named)
end
local function matches(record)
  return (user == '' or record.user == user) and (parent == '' or record.parent == parent)
    and (tag == '' or string.find(',' .. (record.tags or '') .. ',', ',' .. tag .. ',', 1, true))
    and (kind == '' or record.kind == kind) and (reason == '' or record.reason == reason)
    and (source == '' or record.source == source) and (lane == '' or (record.lane or 'any') == lane)
end

local page = redis.call('ZRANGE', from, start, start + 999, 'WITHSCORES')
local answers, bytes, last = {}, 0, -1
for i = 1, #page, 2 do
  if #answers == limit or bytes > 1048576 then break end
  local id, record, size = page[i], read_record(page[i])
  last = i
  if record and matches(record) then
    local held_in, score = from, page[i + 1]
    if driver ~= 'state' then held_in, score = find_set(id, record) end
    local found = state_of(ctx, held_in, score, record)
    if found and (state == 'all' or found == state) then
      bytes = bytes + 512 + size - #(record.error or '') - #(record.headers or '')
      record.error, record.headers = nil, nil
      answers[#answers + 1] = summarise(id, found, score, record)
    end
  end
end
local more = #page == 2000 or last + 1 < #page
return { 'ok', ctx.now, more and driver .. ' ' .. page[last + 1] .. ' ' .. page[last] or '', answers }
