-- queue.workers.v1: return a page of the live workers: all, or those of a group, with a capability, or with a name. A
-- worker is alive if it was seen within presence_ms. busy: how many tasks it held at its last report, empty if it never
-- reports. `cursor` is the cursor of the last page, '' at first; an empty cursor in the answer means that this was the
-- last page. A worker that is alive all the time is listed, in rare cases twice.
--
-- ARGV   name      id            ?=
-- ARGV   group     name          ?=
-- ARGV   capability id           ?=
-- ARGV   cursor    bytes 0..19   ?=
-- ARGV   limit     int 1..200    ?=100
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int cursor:text items:list(item)
-- EACH   item      found name:id seen_ms:int record:pairs(worker)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   4 + 2n commands, O(n); at most 450 commands, 17,000 steps

local ctx, refused = open()
if refused then return refused end
if not string.find(cursor, '^%d*$') then return refuse('cursor', cursor, 'empty, or what the page before answered') end

local alive_since_ms = ctx.now - read_presence()
local page = { '0', { name, redis.call('ZSCORE', workers, name) or '0' } }
if name == '' then page = redis.call('ZSCAN', workers, cursor == '' and '0' or cursor, 'COUNT', limit) end
local answers = {}
for i = 1, #page[2], 2 do
  local seen_ms = tonumber(page[2][i + 1])
  local record = seen_ms > alive_since_ms and shown_worker(page[2][i])
  if record then answers[#answers + 1] = { 'found', page[2][i], seen_ms, record } end
end
return { 'ok', ctx.now, page[1] ~= '0' and page[1] or '', answers }
