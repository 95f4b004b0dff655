#!lua flags=no-writes
-- generated from lua/lock/show.v1.lua by lua/bundle.py; do not edit
-- lock.show.v1: return the holders and waiters of a resource, in order, with their details; at most `limit` of each,
-- and fewer if they have many locks each: `holders` and `waiters` are their numbers. locks:
-- `<code>/<fence>=<resource>`, separated by commas; code is x, s or p and the number of permits; fence is 0 while
-- waiting.
--
-- DATA   config    hash {base}:config
-- DATA   requests  hash {base}:requests
-- DATA   graph     zset {base}:graph
-- DATA   deadlines zset {base}:deadlines
-- DATA   capacity  hash {base}:capacity
-- ARGV   resource  id
-- ARGV   limit     int 1..500     ?=100
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN ok        now_ms:int holders:int waiters:int capacity:pairs(capacity) items:list(item)
-- EACH   item      found rid:id state:text owner:id agent:id priority:int since_ms:int born_ms:int ttl_ms:int until_ms:int granted_ms:int deadline_ms:int place:int locks:text purpose:bytes
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   8 + 3n commands, and one for each lock of a waiter; ends at 20 x limit; at most 2,800 commands, 40,000 steps

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
  KEYS = { arg_base .. ':config', arg_base .. ':requests', arg_base .. ':graph', arg_base .. ':deadlines', arg_base .. ':capacity' }
end

local resource = ARGV[1]
if not resource or #resource > 200 or not arg_find(resource, '^[%w._:/@+-]+$') then
  return refuse('resource', resource, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local limit = ARGV[2]
if limit == '' then
  limit = 100
else
  limit = arg_uint(limit, 1, 500)
  if not limit then return refuse('limit', ARGV[2], 'an integer from 1 to 500') end
end
local now_ms = ARGV[3]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[3], 'an integer from 0 to 9000000000000') end
end
if #ARGV ~= 3 then
  return redis.error_reply('ADEQ_ARG expected 3 arguments, got ' .. #ARGV)
end

local arg_rare

-- members_below(words, limit): the first members of the graph that begin with these words, at most limit.
-- LATE
local function members_below(words, limit) local graph = KEYS[3]
  return redis.call('ZRANGE', graph, '[' .. words .. ' ', '(' .. words .. '!', 'BYLEX', 'LIMIT', 0, limit)
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

-- read_capacity(ctx, resource): the permits of a resource and whether they may be granted; nil if it has no capacity.
local function read_capacity(ctx, resource) local capacity = KEYS[5]
  local max, status, silent_ms, seen_ms, used =
    string.match(redis.call('HGET', capacity, resource) or '', '^(%d+) (%l+) (%d+) (%d+) (%-?%d+)$')
  if not max then return nil end
  local silent = tonumber(silent_ms) > 0 and ctx.now - tonumber(seen_ms) > tonumber(silent_ms)
  return { max = tonumber(max), status = status, silent_ms = silent_ms, seen_ms = seen_ms, used = tonumber(used),
    open = status == 'active' and not silent, silent = silent }
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

local arg_made
function arg_rare()
  if arg_made then return arg_made end

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

  arg_made = { describe = describe }
  return arg_made
end

local graph = KEYS[3]

local ctx, refused = open_domain({})
if refused then return refused end
local room, about, answers = read_capacity(ctx, resource), {}, {}
if room then
  about = { 'max', string.format('%.0f', room.max), 'used', string.format('%.0f', room.used), 'status',
    room.silent and 'offline' or room.status, 'seen_ms', room.seen_ms, 'silent_ms', room.silent_ms }
end
local counts = {}
for i, kind in ipairs({ 'h', 'q' }) do
  local line, work = 'r ' .. resource .. ' ' .. kind, 10 * limit
  counts[i] = redis.call('ZLEXCOUNT', graph, '[' .. line .. ' ', '(' .. line .. '!')
  for _, member in ipairs(members_below(line, limit)) do
    local rid = string.match(member, '^.* (%S+)$')
    local request = read_request(record_of(ctx, rid))
    answers[#answers + 1] = arg_rare().describe(rid, request)
    work = work - 4 - 2 * #request.parts
    if work <= 0 then break end
  end
end
return { 'ok', ctx.now, counts[1], counts[2], about, answers }
