#!lua flags=no-writes
-- generated from lua/lock/list.v1.lua by lua/bundle.py; do not edit
-- lock.list.v1: return a page of the requests that hold or wait: all, or those of an owner, of an agent, or for
-- resources of a type (`<type>:<id>`). `cursor` is the cursor of the last page, '' at first; an empty cursor in the
-- answer means that this was the last page. The order is by resource, unless an owner or agent is named; a request for
-- several resources comes once. A page may hold fewer requests than limit, especially if they have many locks each.
-- `locks` is as in show.
--
-- DATA   config    hash {base}:config
-- DATA   requests  hash {base}:requests
-- DATA   graph     zset {base}:graph
-- DATA   deadlines zset {base}:deadlines
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

local unpack = table.unpack or unpack
local arg_find = string.find
local function refuse(field, value, want)
  local got = 'nothing'
  if type(value) == 'number' then
    got = string.format('%.0f', value)
  elseif value then
    got = "'" .. string.gsub(string.sub(value, 1, 64), '[^ -~]', '?') .. "'"
  end
  return redis.error_reply('ADEQ_ARG ' .. field .. ' must be ' .. want .. ', got ' .. got)
end
local function arg_uint(v, min, max)
  if not v or #v > 16 or (v ~= '0' and not arg_find(v, '^[1-9]%d*$')) then return nil end
  local n = v + 0
  if n >= min and n <= max then return n end
end

local KEYS, ARGV = KEYS, ARGV
if #KEYS ~= 2 then
  return redis.error_reply('ADEQ_ARG expected 2 keys, got ' .. #KEYS)
end

do
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{lock:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:lock:[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{lock:<name>}:config, <prefix>:{<slot>}:lock:<name>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. ':nowhere' then return refuse('key nowhere', KEYS[2], arg_base .. ':nowhere') end
  KEYS = { arg_base .. ':config', arg_base .. ':requests', arg_base .. ':graph', arg_base .. ':deadlines' }
end

local of_type = ARGV[1]
if of_type ~= '' and (not of_type or #of_type > 100 or not arg_find(of_type, '^[%w._@+-]+$')) then
  return refuse('of_type', of_type, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
end
local owner = ARGV[2]
if owner ~= '' and (not owner or #owner > 200 or not arg_find(owner, '^[%w._:/@+-]+$')) then
  return refuse('owner', owner, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local agent = ARGV[3]
if agent ~= '' and (not agent or #agent > 200 or not arg_find(agent, '^[%w._:/@+-]+$')) then
  return refuse('agent', agent, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local state = ARGV[4]
if state == '' then
  state = 'all'
elseif state ~= 'all' and state ~= 'held' and state ~= 'waiting' then
  return refuse('state', state, 'one of all, held, waiting')
end
local cursor = ARGV[5]
if not cursor or #cursor > 1000 then
  return refuse('cursor', cursor and #cursor, '0 to 1000 bytes long')
end
local limit = ARGV[6]
if limit == '' then
  limit = 100
else
  limit = arg_uint(limit, 1, 1000)
  if not limit then return refuse('limit', ARGV[6], 'an integer from 1 to 1000') end
end
local now_ms = ARGV[7]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[7], 'an integer from 0 to 9000000000000') end
end
if #ARGV ~= 7 then
  return redis.error_reply('ADEQ_ARG expected 7 arguments, got ' .. #ARGV)
end

-- parts_text(request): the locks of a request as text, for its record and its events.
local function parts_text(request)
  local words = {}
  for i, part in ipairs(request.parts) do
    words[i] = part.code .. part.depends_on .. '/' .. part.fence .. '=' .. part.resource
  end
  return table.concat(words, ',')
end

-- place_of(request): the place of a waiter, from 1; with several lines, the last one.
local function place_of(request) local graph = KEYS[3]
  local place = 0
  for _, part in ipairs(request.parts) do
    if part.fence == '0' then
      local line = 'r ' .. part.resource .. ' q '
      place = math.max(place, 1 + redis.call('ZLEXCOUNT', graph, '[' .. line, '(' .. line .. request.order))
    end
  end
  return place
end

-- describe(rid, request): the answer of `list` and `show` for a live request. Holders have place 0.
local function describe(rid, request) local deadlines = KEYS[4]
  local waits = request.order ~= '-'
  return { 'found', rid, waits and 'waiting' or request.state, request.owner, request.agent, tonumber(request.priority),
    tonumber(request.since_ms), tonumber(request.born_ms), tonumber(request.ttl_ms), tonumber(request.until_ms),
    tonumber(request.granted_ms), tonumber(redis.call('ZSCORE', deadlines, rid) or 0), place_of(request),
    parts_text(request), request.purpose }
end

-- read_clock(layout_min, clock, chosen): the time in ms, as a number and as text; or nil and the error to return, if
-- the layout of these scripts or the clock of the call does not fit the stored data. chosen: the clock of a base that
-- this call may create.
local function read_clock(layout_min, clock, chosen)
  if tonumber(layout_min or 1) > 1 then
    return nil, redis.error_reply('ADEQ_LAYOUT this data needs scripts of layout ' .. layout_min
      .. ' or newer, these are of layout ' .. 1 .. ': upgrade this client')
  end
  if ((clock or chosen) == 'test') ~= (now_ms > 0) then
    if chosen and not clock then return nil, redis.error_reply('ADEQ_CLOCK now_ms goes with clock=test, and only with it') end
    return nil, redis.error_reply('ADEQ_CLOCK now_ms must be '
      .. (clock == 'test' and 'sent: this base was created with clock=test'
        or '0: this base was not created with clock=test'))
  end
  if now_ms > 0 then return now_ms, string.format('%.0f', now_ms) end
  local time = redis.call('TIME')
  local text = time[1] .. string.sub('00000' .. time[2], -6, -4)  -- the first three of six digits
  return text + 0, text
end

-- open(clock, row): read what every call needs: the time, whether the base exists, and the settings that this script
-- uses as `ctx.settings_<name>`; or nil and the error to return. lua/tools/opening.py generates which settings these are,
-- and the first values of the fields of call.toml. clock: for a call that may create the base. row: the settings as they
-- are stored, if the caller has read them.
local function open(clock, row) local config = KEYS[1]
  row = row or redis.call('HMGET', config, 'layout_min', 'clock')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, offset = false, stepped = false, texts = false, fence = false, waiting = false, due = false }
end

-- open_domain(rids): open a call, and read what every call needs: the counters of the domain, the records of these
-- requests, and a time that never goes back (the offset adds what the server's clock has lost). Or nil and the error to
-- return.
local function open_domain(rids) local requests = KEYS[2]
  local ctx, refused = open()
  if refused then return nil, refused end
  local row = redis.call('HMGET', requests, '#now', '#offset', '#fence', '#waiting', '#due', unpack(rids))  -- at most 1,000: items
  local last, before = row[1] or 0, tonumber(row[2] or 0)
  local offset = math.max(before, last - ctx.now)
  if offset ~= 0 then
    ctx.now = ctx.now + offset
    ctx.now_text = string.format('%.0f', ctx.now)
  end
  local texts = { [rids[1] or ''] = row[6] }
  for i = 2, #rids do texts[rids[i]] = row[5 + i] end
  ctx.texts, ctx.offset, ctx.stepped = texts, offset, offset ~= before
  ctx.fence, ctx.waiting, ctx.due = row[3] or 0, (row[4] or 0) + 0, (row[5] or 0) + 0
  return ctx
end

-- read_request(text): a live request from its record. lock/keys.toml lists the fields. All values stay strings. A part
-- with `depends_on` relies on a lock that the owner already holds. If that lock is released while the request waits,
-- the request ends.
local function read_request(text)
  local request, parts = {}, {}
  local list
  request.state, request.owner, request.agent, request.priority, request.since_ms, request.born_ms, request.ttl_ms,
    request.until_ms, request.order, request.granted_ms, list, request.purpose =
    string.match(text, '^(%S+) (%S+) (%S+) (%d) (%d+) (%d+) (%d+) (%d+) (%S+) (%d+) (%S+) (.*)$')
  for code, depends_on, fence, resource in string.gmatch(list, '(%w+)(%+?)/(%d+)=([^,]+)') do
    parts[#parts + 1] = { code = code, depends_on = depends_on, fence = fence, resource = resource }
  end
  request.parts = parts
  return request
end

-- record_of(ctx, rid): the record of a request, with the changes of this call; false if there is none.
local function record_of(ctx, rid) local requests = KEYS[2]
  if ctx.texts[rid] == nil then ctx.texts[rid] = redis.call('HGET', requests, rid) end
  return ctx.texts[rid]
end

local graph = KEYS[3]

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
