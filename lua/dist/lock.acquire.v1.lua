#!lua
-- generated from lua/lock/acquire.v1.lua by lua/bundle.py; do not edit
-- lock.acquire.v1: acquire a lock, or wait for it. The rid names the request: if it is sent again, the answer is its
-- state, and nothing changes. `issued_ms` is the domain's clock when the request was made. A request older than a
-- minute is refused as `request_expired`, and so is one from the future. Shared is compatible with shared, and permits
-- while there are enough. An owner's own holds never block its shared or exclusive requests. A lock that the owner
-- already holds strongly enough is granted again with the same fence. Other requests are granted in the order of their
-- arrival; a priority is a head start. With wait_ms=0, the answer is `busy` instead of a wait. An owner that already
-- waits may take a lock that no other request holds or wants; otherwise `owner_waits` names its waiting request: cancel
-- it if it is an old try of yours. `deadlock`: waiting would close a deadlock cycle: `owner>mode>resource` for each
-- waiter, whose resource the next one holds or waits for ahead of it; at most 256, and `+<n>` for those not named.
-- checked=0: call detect. If a repeated call returns `granted` for a lock that was handed over in between, poll or
-- renew before deadline_ms.
--
-- DATA   config    hash           {base}:config
-- DATA   requests  hash           {base}:requests
-- DATA   graph     zset           {base}:graph
-- DATA   deadlines zset           {base}:deadlines
-- DATA   unchecked zset           {base}:unchecked
-- DATA   capacity  hash           {base}:capacity
-- DATA   rates     zset           {base}:rates
-- DATA   events    stream         {base}:events
-- DATA   channel   prefix/channel {base}:channel:  id
-- ARGV   rid       id
-- ARGV   resource  id
-- ARGV   owner     id
-- ARGV   agent     id             ?=
-- ARGV   mode      enum exclusive|shared|permit ?=exclusive
-- ARGV   permits   int 1..1000000 ?=1
-- ARGV   ttl_ms    int 0..3600000 ?=0
-- ARGV   wait_ms   int 0..86400000 ?=0
-- ARGV   priority  int 0..9       ?=5
-- ARGV   issued_ms int 0..
-- ARGV   born_ms   int 0..        ?=0
-- ARGV   purpose   bytes 0..200   ?=
-- ARGV   trace     bytes 0..128   ?=
-- ARGV   source    bytes 0..200   ?=
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN granted   now_ms:int fence:int deadline_ms:int
-- RETURN queued    now_ms:int place:int poll_ms:int checked:int
-- RETURN busy      now_ms:int
-- RETURN deadlock  now_ms:int circle:text
-- RETURN ended     now_ms:int outcome:text
-- RETURN owner_waits now_ms:int rid:id
-- RETURN unavailable now_ms:int reason:text
-- RETURN rate_limited now_ms:int retry_ms:int
-- RETURN request_expired now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  lock.acquired lock.queued lock.promoted lock.expired lock.cancelled lock.deadlock
-- ROLE   work
-- REPLAY rid
-- COST   9 commands if it is free, 19 to wait, more if its owner holds locks that others wait for; at most 670 commands, 32,000 steps

local MAX_SAFE = 9007199254740991
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
  if KEYS[2] ~= arg_base .. '!work' then return refuse('key gate', KEYS[2], arg_base .. '!work') end
  KEYS = { arg_base .. ':config', arg_base .. ':requests', arg_base .. ':graph', arg_base .. ':deadlines', arg_base .. ':unchecked', arg_base .. ':capacity', arg_base .. ':rates', arg_base .. ':events', arg_base .. ':channel:' }
end

local rid = ARGV[1]
if not rid or #rid > 200 or not arg_find(rid, '^[%w._:/@+-]+$') then
  return refuse('rid', rid, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local resource = ARGV[2]
if not resource or #resource > 200 or not arg_find(resource, '^[%w._:/@+-]+$') then
  return refuse('resource', resource, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local owner = ARGV[3]
if not owner or #owner > 200 or not arg_find(owner, '^[%w._:/@+-]+$') then
  return refuse('owner', owner, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local agent = ARGV[4]
if agent ~= '' and (not agent or #agent > 200 or not arg_find(agent, '^[%w._:/@+-]+$')) then
  return refuse('agent', agent, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local mode = ARGV[5]
if mode == '' then
  mode = 'exclusive'
elseif mode ~= 'exclusive' and mode ~= 'shared' and mode ~= 'permit' then
  return refuse('mode', mode, 'one of exclusive, shared, permit')
end
local permits = ARGV[6]
if permits == '' then
  permits = 1
else
  permits = arg_uint(permits, 1, 1000000)
  if not permits then return refuse('permits', ARGV[6], 'an integer from 1 to 1000000') end
end
local ttl_ms = ARGV[7]
if ttl_ms == '' then
  ttl_ms = 0
else
  ttl_ms = arg_uint(ttl_ms, 0, 3600000)
  if not ttl_ms then return refuse('ttl_ms', ARGV[7], 'an integer from 0 to 3600000') end
end
local wait_ms = ARGV[8]
if wait_ms == '' then
  wait_ms = 0
else
  wait_ms = arg_uint(wait_ms, 0, 86400000)
  if not wait_ms then return refuse('wait_ms', ARGV[8], 'an integer from 0 to 86400000') end
end
local priority = ARGV[9]
if priority == '' then
  priority = 5
else
  priority = arg_uint(priority, 0, 9)
  if not priority then return refuse('priority', ARGV[9], 'an integer from 0 to 9') end
end
local issued_ms = ARGV[10]
issued_ms = arg_uint(issued_ms, 0, 9007199254740991)
if not issued_ms then return refuse('issued_ms', ARGV[10], 'an integer from 0 to 9007199254740991') end
local born_ms = ARGV[11]
if born_ms == '' then
  born_ms = 0
else
  born_ms = arg_uint(born_ms, 0, 9007199254740991)
  if not born_ms then return refuse('born_ms', ARGV[11], 'an integer from 0 to 9007199254740991') end
end
local purpose = ARGV[12]
if not purpose or #purpose > 200 then
  return refuse('purpose', purpose and #purpose, '0 to 200 bytes long')
end
local trace = ARGV[13]
if not trace or #trace > 128 then
  return refuse('trace', trace and #trace, '0 to 128 bytes long')
end
local source = ARGV[14]
if not source or #source > 200 then
  return refuse('source', source and #source, '0 to 200 bytes long')
end
local now_ms = ARGV[15]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[15], 'an integer from 0 to 9000000000000') end
end
if #ARGV ~= 15 then
  return redis.error_reply('ADEQ_ARG expected 15 arguments, got ' .. #ARGV)
end

-- emit(ctx, event, id, detail): add an entry to the stream, if the noun keeps events. detail: `name=value` words, or
-- ''. The trace is ctx.trace, that of the task, or else that of the call.
local function emit(ctx, event, id, detail) local events = KEYS[8]
  if ctx.settings_events_max == 0 then return end
  local source = ctx.restricted and '' or source  -- of the call: it is also that of a new task, and its tier may hide it
  if detail ~= '' and source == '' and trace == '' and not ctx.trace then
    redis.call('XADD', events, 'MAXLEN', '~', ctx.settings_events_max, '*', 'event', event, 'timestamp', ctx.now_text, 'id', id,
      'payload', detail)
    return
  end
  local entry = { 'event', event, 'timestamp', ctx.now_text, 'id', id }
  if detail ~= '' then entry[7], entry[8] = 'payload', detail end
  if source ~= '' then entry[#entry + 1] = 'source'; entry[#entry + 1] = source end
  local traced = ctx.trace or trace
  if traced ~= '' then entry[#entry + 1] = 'trace'; entry[#entry + 1] = traced end
  redis.call('XADD', events, 'MAXLEN', '~', ctx.settings_events_max, '*', unpack(entry))  -- at most 12: fields of an event
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'lease_ms', 'max_ttl_ms', 'rate_per_minute', 'mirror', 'events_max')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_lease_ms = tonumber(row[3] or 30000), settings_max_ttl_ms = tonumber(row[4] or 3600000), settings_rate_per_minute = tonumber(row[5] or 0), settings_mirror = row[6] == '1', settings_events_max = tonumber(row[7] or 100000), offset = false, stepped = false, texts = false, fence = false, waiting = false, due = false }
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

local requests, graph, deadlines, channel = KEYS[2], KEYS[3], KEYS[4], KEYS[9]

local ctx, refused = open_domain({ rid })
if refused then return refused end
if ttl_ms > ctx.settings_max_ttl_ms and not ctx.texts[rid] then
  return refuse('ttl_ms', ttl_ms, string.format('at most max_ttl_ms of the domain: %.0f', ctx.settings_max_ttl_ms))
end
local fresh = not ctx.texts[rid] and math.abs(ctx.now - issued_ms) <= 60000
local deadline_ms = ctx.now + (ttl_ms > 0 and ttl_ms or ctx.settings_lease_ms)
if fresh and ctx.exists and not ctx.stepped and ctx.now < ctx.due and ctx.due <= deadline_ms
  and mode ~= 'permit' and ctx.settings_rate_per_minute == 0 and not ctx.settings_mirror
  and not redis.call('ZRANGE', graph, '[r ' .. resource .. ' ', '(r ' .. resource .. '!', 'BYLEX', 'LIMIT', 0, 1)[1] then
  -- nobody holds it, nobody waits for it, nothing else is to be seen to
  if agent == '' then agent = owner end
  local code, fence = mode == 'shared' and 's' or 'x', math.max(ctx.fence + 1, ctx.now * 1000)
  local fence_text, now_text = string.format('%.0f', fence), ctx.now_text
  local locks = code .. '/' .. fence_text .. '=' .. resource
  redis.call('ZADD', graph, 0, 'r ' .. resource .. ' h ' .. code .. ' ' .. owner .. ' ' .. rid,
    0, 'o ' .. owner .. ' h ' .. resource .. ' ' .. code .. ' ' .. rid, 0, 'a ' .. agent .. ' ' .. rid)
  redis.call('ZADD', deadlines, deadline_ms, rid)
  local born_text = born_ms > 0 and string.format('%.0f', born_ms) or now_text
  redis.call('HSET', requests, '#now', now_text, '#fence', fence_text, rid, 'held ' .. owner .. ' ' .. agent
    .. string.format(' %d ', priority) .. now_text .. ' ' .. born_text .. string.format(' %d 0 - ', deadline_ms - ctx.now)
    .. now_text .. ' ' .. locks .. ' ' .. purpose)
  emit(ctx, 'lock.acquired', rid, 'owner=' .. owner .. ' agent=' .. agent .. ' locks=' .. locks)
  redis.pcall('SPUBLISH', channel .. resource, 'acquired:' .. agent)
  return { 'granted', ctx.now, fence, deadline_ms }
end

local arg_rare

-- mode_of(mode, permits): the code of a mode in `graph`: `x`, `s`, or `p` and the number of permits.
local function mode_of(mode, permits)
  return mode == 'exclusive' and 'x' or mode == 'shared' and 's' or string.format('p%.0f', permits)
end

local arg_made
function arg_rare()
  if arg_made then return arg_made end

-- record_of(ctx, rid): the record of a request, with the changes of this call; false if there is none.
local function record_of(ctx, rid) local requests = KEYS[2]
  if ctx.texts[rid] == nil then ctx.texts[rid] = redis.call('HGET', requests, rid) end
  return ctx.texts[rid]
end

-- choose_victim(ctx, request, nodes): which wait of a cycle ends, by the policy; nil: that of the request.
local function choose_victim(ctx, request, nodes)
  if ctx.policy == 'requester' then return nil end
  local victim, rank, born = nil, tonumber(request.priority), tonumber(request.born_ms)
  for _, node in ipairs(nodes) do
    local its_priority, its_born_ms = string.match(record_of(ctx, node.rid), '^%S+ %S+ %S+ (%d) %d+ (%d+) ')
    local its_rank, its_born = tonumber(its_priority), tonumber(its_born_ms)
    if ctx.policy == 'youngest' then its_rank = rank end
    if its_rank > rank or (its_rank == rank and its_born > born) then victim, rank, born = node, its_rank, its_born end
  end
  return victim
end

-- cycle_of(request, search): the cycle that a search has found, as `<owner><code>><resource>` for each owner: it waits
-- for the resource in that mode, and the next owner holds it or waits ahead. Also the waits of the others, in that
-- order. A cycle of more than 256 owners or 30,000 bytes is cut, with `+<n>` for the rest.
local function cycle_of(request, search)
  local block = search.hard or search.maybe
  local words, nodes = { request.owner .. '>' .. search.wants[block.resource] .. '>' .. block.resource }, {}
  local node, size = search.found[block.owner], #words[1]
  local length = 1 + (node and node.depth or 0)
  while node and #words < 256 and size < 30000 do -- at most 256: words
    words[#words + 1] = node.owner .. '>' .. node.code .. '>' .. node.resource
    nodes[#nodes + 1] = node
    size = size + 1 + #words[#words]
    node = search.found[node.waits_for]
  end
  if node then words[#words + 1] = string.format('+%d', length - #words) end
  return table.concat(words, ' '), nodes
end

-- parts_text(request): the locks of a request as text, for its record and its events.
local function parts_text(request)
  local words = {}
  for i, part in ipairs(request.parts) do
    words[i] = part.code .. part.depends_on .. '/' .. part.fence .. '=' .. part.resource
  end
  return table.concat(words, ',')
end

-- emit_lock_event(ctx, event, rid, request, detail): emit one event, and hints for the listeners of its resources. If
-- the request no longer waits, its own listener gets one too. detail: further words, each with a space before it, or
-- ''.
local function emit_lock_event(ctx, event, rid, request, detail)
  local agent, hints = request.agent, ctx.hints or {}
  emit(ctx, event, rid, 'owner=' .. request.owner .. ' agent=' .. agent .. ' locks=' .. parts_text(request) .. detail)
  ctx.hints = hints
  local word = string.sub(event, 6) .. ':' .. agent
  local function hint(whom) hints[whom] = hints[whom] and hints[whom] .. ' ' .. word or word end
  for _, part in ipairs(request.parts) do hint(part.resource) end
  if event == 'lock.promoted' or event == 'lock.cancelled' or event == 'lock.deadlock' then hint(rid) end
end

-- forget_search(ctx, rid): drop a waiter from the searches. If no waiter is left, drop all, also the rest of a line.
local function forget_search(ctx, rid) local unchecked = KEYS[5]
  ctx.waiting = ctx.waiting - 1
  if ctx.waiting == 0 then
    redis.call('UNLINK', unchecked)
  else
    redis.call('ZREM', unchecked, rid)
  end
end

-- members_of(rid, request): the members of a request in the graph: for each lock one by resource and one by owner, and
-- one by agent. A waiter's members have its place, unless it depends on another hold of its owner. A holder's have
-- none.
local function members_of(rid, request)
  local members, owner, order = {}, request.owner, request.order
  for _, part in ipairs(request.parts) do
    local resource, code = part.resource, part.code
    if order == '-' then
      members[#members + 1] = 'r ' .. resource .. ' h ' .. code .. ' ' .. owner .. ' ' .. rid
      members[#members + 1] = 'o ' .. owner .. ' h ' .. resource .. ' ' .. code .. ' ' .. rid
    elseif part.fence == '0' then
      members[#members + 1] = 'r ' .. resource .. ' q ' .. order .. ' ' .. code .. ' ' .. owner .. ' ' .. rid
      members[#members + 1] = 'o ' .. owner .. ' w ' .. resource .. ' ' .. order .. ' ' .. code .. ' ' .. rid
    end
  end
  members[#members + 1] = 'a ' .. request.agent .. ' ' .. rid
  return members
end

-- note_line(ctx, resource, shared, from): note that waiters for a resource, behind that place, may have a turn now;
-- promote_freed looks at each line once. shared: the request that left shared it, or would have. `gone` counts those;
-- any other counts as 64.
local function note_line(ctx, resource, shared, from)
  ctx.freed, ctx.noted = ctx.freed or {}, ctx.noted or {}
  from = from or ''
  local noted = ctx.noted[resource]
  if not noted then
    noted = { resource = resource, gone = 0, from = from }
    ctx.freed[#ctx.freed + 1], ctx.noted[resource] = noted, noted
  end
  noted.gone = noted.gone + (shared and 1 or 64)
  if from < noted.from then noted.from = from end
end

-- note_freed(ctx, request): note the lines of a request that leaves, and the owners whose own waits may have lost a
-- hold that they depend on.
local function note_freed(ctx, request)
  for _, part in ipairs(request.parts) do
    note_line(ctx, part.resource, part.code == 's')
    if ctx.lines then ctx.lines[part.resource] = nil end
  end
  if request.order == '-' then
    ctx.losers = ctx.losers or {}
    ctx.losers[request.owner] = true
  end
end

-- permits_of(code): how many permits a code stands for; nil if it is that of another mode.
local function permits_of(code) return tonumber(string.match(code, '^p(%d+)$')) end

-- set_record(ctx, rid, text): change the record of a request in memory. close_domain stores it.
-- LATE
local function set_record(ctx, rid, text)
  ctx.texts[rid] = text
  ctx.changed = ctx.changed or {}
  ctx.changed[rid] = true
end

-- remember(ctx, rid, outcome): store for two minutes how a request ended, so that a repeated call cannot acquire again.
-- In `deadlines`, ended requests have negative scores, and live requests positive ones.
local function remember(ctx, rid, outcome) local deadlines = KEYS[4]
  set_record(ctx, rid, 'ended ' .. outcome)
  redis.call('ZADD', deadlines, ctx.now + 120000 - 1e15, rid)
  ctx.due = math.min(ctx.due, ctx.now + 121000)
end

-- read_capacity(ctx, resource): the permits of a resource and whether they may be granted; nil if it has no capacity.
local function read_capacity(ctx, resource) local capacity = KEYS[6]
  local max, status, silent_ms, seen_ms, used =
    string.match(redis.call('HGET', capacity, resource) or '', '^(%d+) (%l+) (%d+) (%d+) (%-?%d+)$')
  if not max then return nil end
  local silent = tonumber(silent_ms) > 0 and ctx.now - tonumber(seen_ms) > tonumber(silent_ms)
  return { max = tonumber(max), status = status, silent_ms = silent_ms, seen_ms = seen_ms, used = tonumber(used),
    open = status == 'active' and not silent, silent = silent }
end

-- write_capacity(resource, room): store what read_capacity reads.
local function write_capacity(resource, room) local capacity = KEYS[6]
  redis.call('HSET', capacity, resource, string.format('%.0f %s %s %s %.0f', room.max, room.status, room.silent_ms,
    room.seen_ms, room.used))
end

-- use_permits(ctx, part, sign): count the permits of a part as taken (1) or given back (-1).
local function use_permits(ctx, part, sign)
  local room = read_capacity(ctx, part.resource)
  if not room then return end
  room.used = room.used + sign * permits_of(part.code)
  write_capacity(part.resource, room)
end

-- end_request(ctx, rid, request, outcome, event, detail): remove a request from `graph`, free its permits, store its
-- outcome, and note which waiters may now be granted.
-- LATE
local function end_request(ctx, rid, request, outcome, event, detail) local graph = KEYS[3]
  redis.call('ZREM', graph, unpack(members_of(rid, request)))  -- at most 65: members of a request
  remember(ctx, rid, outcome)
  if request.order ~= '-' then
    forget_search(ctx, rid)
  end
  note_freed(ctx, request)
  for _, part in ipairs(request.parts) do
    if request.order == '-' and permits_of(part.code) then use_permits(ctx, part, -1) end
  end
  emit_lock_event(ctx, event, rid, request, detail)
end

-- end_deadlock(ctx, rid, request, circle): end a wait that is part of a cycle.
local function end_deadlock(ctx, rid, request, circle)
  end_request(ctx, rid, request, 'deadlock ' .. circle, 'lock.deadlock', ' cycle=' .. circle)
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

-- live_request(ctx, rid): the request with this rid if it holds or waits; nil if it has ended or is unknown.
local function live_request(ctx, rid)
  local text = record_of(ctx, rid)
  if text and string.sub(text, 1, 6) ~= 'ended ' then return read_request(text) end
end

-- strongest(owner, resource): the code of the strongest hold of an owner on a resource; nil if it has none.
local function strongest(owner, resource) local graph = KEYS[3]
  local held = 'o ' .. owner .. ' h ' .. resource
  local last = redis.call('ZRANGE', graph, '(' .. held .. '!', '[' .. held .. ' ', 'BYLEX', 'REV', 'LIMIT', 0, 1)[1]
  return last and string.match(last, '^.* (%S+) %S+$')
end

-- lost_dependency(request): whether one of the holds that a waiter depends on is gone.
local function lost_dependency(request)
  for _, part in ipairs(request.parts) do
    if part.depends_on ~= '' then
      local code = strongest(request.owner, part.resource)
      if code ~= 'x' and (code ~= 's' or (part.code == 'x' and part.fence ~= '0')) then return true end
    end
  end
  return false
end

-- end_wait(ctx, rid, request): end a waiter whose time has come: its wait is over, or its client has stopped asking.
local function end_wait(ctx, rid, request)
  local outcome = ctx.now >= tonumber(request.until_ms) and 'timed_out' or 'abandoned'
  end_request(ctx, rid, request, outcome, 'lock.cancelled', ' reason=' .. outcome)
end

-- line_of(ctx, resource): what was read of the holders and waiters of a resource, until they change (link_request,
-- note_freed). `holds`: how many; `code` and `by`: mode and owner of the strongest hold; `first`: the place of the
-- first waiter; once `read`, `alone`: the place of the first waiter that does not share, and `last`: that of the 64th.
-- false: there is none; nil: not read yet.
local function line_of(ctx, resource)
  ctx.lines = ctx.lines or {}
  ctx.lines[resource] = ctx.lines[resource] or {}
  if ctx.looks then ctx.looks = ctx.looks - 1 end
  return ctx.lines[resource]
end

-- is_behind(ctx, part, order): whether an earlier waiter for the resource goes first. Shared waiters may pass up to 63
-- shared waiters that also wait for something else.
local function is_behind(ctx, part, order) local graph = KEYS[3]
  local line, queue, most = line_of(ctx, part.resource), 'r ' .. part.resource .. ' q ', part.code == 's' and 64 or 1
  if part.code == 's' and not line.read or part.code ~= 's' and line.first == nil then
    local members = redis.call('ZRANGE', graph, '[' .. queue, '(' .. queue .. '~', 'BYLEX', 'LIMIT', 0, most)
    line.first, line.read, line.alone, line.last = false, most == 64, false, false
    for i, member in ipairs(members) do
      local place, code = string.match(member, '^r %S+ q (%S+) (%S+) ')
      if i == 1 then line.first = place end
      if i == 64 then line.last = place end
      if code ~= 's' then
        line.alone = place
        break
      end
    end
    if ctx.looks then ctx.looks = ctx.looks - math.ceil(#members / 8) end
  end
  if part.code ~= 's' then return line.first and line.first < order end
  return line.alone and line.alone < order or line.last and line.last < order
end

-- is_held_against(ctx, part, owner): whether holders of the resource block this owner. The members are sorted: permits,
-- shared, exclusive.
local function is_held_against(ctx, part, owner) local graph = KEYS[3]
  local line, held = line_of(ctx, part.resource), 'r ' .. part.resource .. ' h'
  local low, high = '[' .. held .. ' ', '(' .. held .. '!'
  if part.code == 'x' then
    line.holds = line.holds or redis.call('ZLEXCOUNT', graph, low, high)
    if line.holds == 0 then return false end
    local own = 'o ' .. owner .. ' h ' .. part.resource
    return line.holds > redis.call('ZLEXCOUNT', graph, '[' .. own .. ' s', '(' .. own .. '!')
  end
  if line.code == nil then
    local strongest = redis.call('ZRANGE', graph, high, low, 'BYLEX', 'REV', 'LIMIT', 0, 1)[1]
    line.code, line.by = string.match(strongest or '', '^r %S+ h (%S+) (%S+) ')
    line.code = line.code or false
  end
  if part.code ~= 's' then
    line.room = line.room or read_capacity(ctx, part.resource)
    local room = line.room
    return line.code == 'x' or line.code == 's' or not room or not room.open
      or room.used + permits_of(part.code) > room.max
  end
  if line.code == 'x' then return line.by ~= owner end
  return line.code and line.code ~= 's'
end

-- find_obstacle(ctx, request, order): why a request at that place has to wait: the resource, and whether holders are
-- the reason (else earlier waiters); nil if it need not wait.
local function find_obstacle(ctx, request, order)
  for _, part in ipairs(request.parts) do
    if part.fence == '0' then
      if is_held_against(ctx, part, request.owner) then return part.resource, true end
      if is_behind(ctx, part, order) then return part.resource, false end
    end
  end
end

-- link_request(ctx, rid, request): add the members of a request to the graph. Its lines (line_of) are to be read again,
-- unless it only shares a lock that is shared or free, which keeps no other sharer away.
local function link_request(ctx, rid, request) local graph = KEYS[3]
  for _, part in ipairs(ctx.lines and request.parts or {}) do
    local line = ctx.lines[part.resource]
    if line and (line.code == 's' or line.code == false) and part.code == 's' and request.order == '-' then
      line.code, line.by, line.holds, line.first = 's', request.owner, nil, nil
    else
      ctx.lines[part.resource] = nil
    end
  end
  local scored = {}
  for i, member in ipairs(members_of(rid, request)) do
    scored[2 * i - 1], scored[2 * i] = 0, member
  end
  redis.call('ZADD', graph, unpack(scored))  -- at most 130: two for each member of a request
end

-- next_fence(ctx): a new fence, larger than all earlier ones, even after the server lost its last second of writes:
-- fences are at least the time in µs; as text.
local function next_fence(ctx)
  ctx.fence = math.max(ctx.fence + 1, ctx.now * 1000)
  return string.format('%.0f', ctx.fence)
end

-- set_deadline(ctx, rid, deadline_ms): store when a live request expires. ctx.due becomes the earliest such time.
local function set_deadline(ctx, rid, deadline_ms) local deadlines = KEYS[4]
  redis.call('ZADD', deadlines, deadline_ms, rid)
  ctx.due = math.min(ctx.due, deadline_ms)
end

-- write_request(ctx, rid, request): note the record of a live request; read_request reads it.
local function write_request(ctx, rid, request)
  set_record(ctx, rid, string.format('%s %s %s %.0f %.0f %.0f %.0f %.0f %s %.0f ', request.state, request.owner,
    request.agent, request.priority, request.since_ms, request.born_ms, request.ttl_ms, request.until_ms, request.order,
    request.granted_ms) .. parts_text(request) .. ' ' .. request.purpose)
end

-- grant(ctx, rid, request, status, deadline_ms): make it a holder. A lock that its owner did not hold before gets a
-- fence above all that were given out before.
local function grant(ctx, rid, request, status, deadline_ms)
  local fence = next_fence(ctx)
  for _, part in ipairs(request.parts) do
    part.depends_on = ''
    if part.fence == '0' then part.fence = fence end
    if permits_of(part.code) then use_permits(ctx, part, 1) end
  end
  request.state, request.order, request.until_ms = status, '-', 0
  request.granted_ms, request.deadline_ms = ctx.now, deadline_ms
  link_request(ctx, rid, request)
  write_request(ctx, rid, request)
  set_deadline(ctx, rid, deadline_ms)
end

-- read_rules(ctx): read the settings that few calls need, and add them to ctx.
local function read_rules(ctx) local config = KEYS[1]
  if ctx.claim_ms then return end
  local row = redis.call('HMGET', config, 'poll_ms', 'claim_ms', 'waiter_ms', 'priority_step_ms', 'policy',
    'detect_visits', 'rate_burst', 'detection')
  ctx.poll_ms, ctx.claim_ms = tonumber(row[1] or 2000), tonumber(row[2] or 5000)
  ctx.waiter_ms, ctx.step_ms = tonumber(row[3] or 15000), tonumber(row[4] or 5000)
  ctx.policy, ctx.visits = row[5] or 'requester', tonumber(row[6] or 1000)
  ctx.detection = (row[8] or '1') ~= '0'
  ctx.rate_burst = tonumber(row[7] or 10)
end

-- hand_over(ctx, rid, request): make a waiter a holder. It has a short time to claim the grant. Those behind it may
-- follow in each of its lines, unless it has the resource alone.
local function hand_over(ctx, rid, request) local graph = KEYS[3]
  read_rules(ctx)
  redis.call('ZREM', graph, unpack(members_of(rid, request)))  -- at most 65: members of a request
  forget_search(ctx, rid)
  grant(ctx, rid, request, 'granted', ctx.now + ctx.claim_ms)
  emit_lock_event(ctx, 'lock.promoted', rid, request, '')
  for i, part in ipairs(request.parts) do
    if part.code ~= 'x' and (i > 1 or request.parts[2]) then note_line(ctx, part.resource, part.code == 's') end
  end
end

-- promote(ctx, freed, left): grant what can be granted to the waiters of a resource, first come first served, a run of
-- shared waiters together. At most `left` grants and ends. Returns how many are left, and, if that was too much for a
-- call, the place up to which all had their turn. The obstacle of a waiter is the same in all its lines, so it is found
-- once (ctx.tried) until another one is granted. ctx.looks: how much may be done.
local function promote(ctx, freed, left) local graph, deadlines = KEYS[3], KEYS[4]
  local line, most, skipped, had = 'r ' .. freed.resource .. ' q ', 64, 0, left
  local low, high = '(' .. line .. freed.from .. '!', '(' .. line .. '~'
  ctx.looks = ctx.looks - 5
  if freed.gone < 64 then
    local first = redis.call('ZRANGE', graph, low, high, 'BYLEX', 'LIMIT', 0, 1)[1]
    if not first then return left end
    -- a shared waiter may pass 63 shared waiters. So if n shared requests left, the last n of the first 64 may be granted
    if string.find(first, '^r %S+ q %S+ s ') then most, skipped = freed.gone, 64 - freed.gone end
  end
  local members = redis.call('ZRANGE', graph, low, high, 'BYLEX', 'LIMIT', skipped, most)
  ctx.looks = ctx.looks - math.ceil(#members / 8)
  for i, member in ipairs(members) do
    local order, code, rid = string.match(member, '^r %S+ q (%S+) (%S+) %S+ (%S+)$')
    local tried = ctx.tried[rid] -- those whose records change meanwhile leave the line
    if not tried then
      tried = { request = read_request(record_of(ctx, rid)) }
      tried.over = tonumber(redis.call('ZSCORE', deadlines, rid)) <= ctx.now
      ctx.tried[rid] = tried
      ctx.looks = ctx.looks - 2 - #tried.request.parts
    end
    local request = tried.request
    if tried.over then
      end_wait(ctx, rid, request)
      left, ctx.looks = left - 1, ctx.looks - 10 - 4 * #request.parts
    elseif tried.left ~= left then
      tried.left = left
      tried.obstacle, tried.held = find_obstacle(ctx, request, order)
      if not tried.obstacle then
        hand_over(ctx, rid, request)
        left, ctx.looks = left - 1, ctx.looks - 2 - 12 * #request.parts
      end
    end
    if not tried.over and tried.obstacle and (code ~= 's' or (tried.held and tried.obstacle == freed.resource)) then return left end
    if left == 0 or ctx.looks <= 0 then return left, order end
    if i == most and (skipped == 0 or left < had) then return left, order end -- those behind may follow
  end
  return left
end

-- members_below(words, limit): the first members of the graph that begin with these words, at most limit.
-- LATE
local function members_below(words, limit) local graph = KEYS[3]
  return redis.call('ZRANGE', graph, '[' .. words .. ' ', '(' .. words .. '!', 'BYLEX', 'LIMIT', 0, limit)
end

-- waits_as(owner): the rid of the request with which this owner waits, or nil.
local function waits_as(owner)
  local member = members_below('o ' .. owner .. ' w', 1)[1]
  return member and string.match(member, '^.* (%S+)$')
end

-- promote_freed(ctx): grant what this call has freed to the next waiters. First it ends the waits of owners that have
-- lost a hold that they depend on. The rest is left to the next call.
-- LATE
local function promote_freed(ctx)
  local left, at = ctx.grants or 64, 1
  ctx.tried, ctx.looks = {}, ctx.looks or 1300
  for owner in pairs(ctx.waiting > 0 and ctx.losers or {}) do
    local rid = waits_as(owner)
    local request = rid and live_request(ctx, rid)
    if request and lost_dependency(request) then
      end_request(ctx, rid, request, 'lost', 'lock.cancelled', ' reason=lost')
    end
  end
  -- at most 5,000: 32 for each of 64 grants, and what the call itself has freed
  while ctx.freed and ctx.freed[at] and ctx.waiting > 0 do
    local freed = ctx.freed[at]
    ctx.noted[freed.resource] = nil
    local from = freed.from
    if left > 0 and ctx.looks > 0 then left, from = promote(ctx, freed, left) end
    if from then set_deadline(ctx, 'promote ' .. freed.resource .. string.gsub(from, '^.', ' %0'), ctx.now) end
    at = at + 1
  end
  ctx.freed, ctx.noted, ctx.losers, ctx.grants = nil, nil, nil, left
end

-- break_cycle(ctx, request, search): end one wait of a cycle, as the policy says. Returns the cycle as text, and the
-- rid whose wait ended; no rid if the request itself has to give way.
local function break_cycle(ctx, request, search)
  local circle, nodes = cycle_of(request, search)
  local victim = choose_victim(ctx, request, nodes)
  if not victim then return circle end
  local other = read_request(record_of(ctx, victim.rid))
  end_deadlock(ctx, victim.rid, other, circle)
  promote_freed(ctx)
  return circle, victim.rid
end

-- cover_parts(ctx, request): find the parts that the owner already holds strongly enough, and give each its highest
-- fence. A shared hold that is to become exclusive makes the request an upgrade. Returns whether all parts are covered.
local function cover_parts(ctx, request) local graph = KEYS[3]
  local covered, fences = true, {}
  for _, part in ipairs(request.parts) do
    local held = 'o ' .. request.owner .. ' h ' .. part.resource
    local members = redis.call('ZRANGE', graph, '(' .. held .. '!', '[' .. held .. ' ', 'BYLEX', 'REV', 'LIMIT', 0, 64)
    local code, fence = string.match(members[1] or '', '^.* (%S+) %S+$'), 0 -- the strongest stands last
    if code == 'x' and (part.code == 's' or part.code == 'x') or code == 's' and part.code == 's' then
      for _, member in ipairs(members) do
        local rid = string.match(member, '^.* (%S+)$')
        if not fences[rid] then
          fences[rid] = {}
          for _, own in ipairs(read_request(record_of(ctx, rid)).parts) do
            fences[rid][own.resource] = tonumber(own.fence)
          end
        end
        fence = math.max(fence, fences[rid][part.resource])
      end
      part.fence, part.depends_on = string.format('%.0f', fence), '+'
    else
      covered = false
      if code == 's' and part.code == 'x' then part.depends_on = '+' end
    end
  end
  return covered
end

-- end_rids(ctx, rids, work): end requests whose deadline has come: all of them first, so that none gets what another
-- one leaves. Then the next waiters have their turn. Returns how many were ended. work: how many locks, and a little
-- more, it may handle.
local function end_rids(ctx, rids, work) local deadlines = KEYS[4]
  local count = 0
  for _, rid in ipairs(rids) do
    if work <= 0 then break end
    local resource, from = string.match(rid, '^promote (%S+) ?(%S*)$')
    local request = not resource and live_request(ctx, rid)
    if resource then
      redis.call('ZREM', deadlines, rid)
      note_line(ctx, resource, false, from)
    elseif request and request.order ~= '-' then
      end_wait(ctx, rid, request)
    elseif request then
      end_request(ctx, rid, request, 'expired', 'lock.expired', '')
    else
      redis.call('ZREM', deadlines, rid) -- the request no longer exists
    end
    count, work = count + 1, work - 4 - (request and #request.parts or 0)
  end
  promote_freed(ctx)
  return count
end

-- end_overdue(ctx, rids, work): end the overdue requests among rids, unless end_due has already ended all overdue
-- requests.
local function end_overdue(ctx, rids, work) local deadlines = KEYS[4]
  if ctx.caught_up or #rids == 0 then return end
  local due = {}
  for i, deadline_ms in ipairs(redis.call('ZMSCORE', deadlines, unpack(rids))) do  -- at most 1,000: items, or 256 of expire_nearby
    local at = tonumber(deadline_ms or -1)
    if at >= 0 and at <= ctx.now then due[#due + 1] = rids[i] end
  end
  end_rids(ctx, due, work or MAX_SAFE)
end

-- expire_nearby(ctx, parts): end what is overdue among the first holders and waiters of these resources, as much as one
-- call may; looks at 256.
local function expire_nearby(ctx, parts)
  local rids, spare = {}, ctx.spare or 256
  for _, part in ipairs(ctx.caught_up and {} or parts) do
    local members = members_below('r ' .. part.resource, math.min(spare, 64))
    for _, member in ipairs(members) do rids[#rids + 1] = string.match(member, '^.* (%S+)$') end
    spare = spare - #members
  end
  ctx.spare = spare
  end_overdue(ctx, rids, 200)
end

-- scan_line(ctx, search, scan): find the waiters of a resource behind a place that wait for the holder or waiter at
-- that place, or for one who does: those that conflict with it, and all behind them. A holder's place is ''. Each is
-- noted once, with the owner that it waits for. counted: permits are involved. Reads 64 at a time; true when the line
-- has been read.
local function scan_line(ctx, search, scan) local graph = KEYS[3]
  local resource, line = scan.resource, 'r ' .. scan.resource .. ' q '
  if not scan.begun then
    scan.begun, scan.stop = true, search.from[resource] or '~'
    if scan.stop <= scan.order then return true end
    if scan.code ~= 's' then
      scan.last, search.from[resource] = scan.by, scan.order
    end
    scan.counted = scan.counted or permits_of(scan.code) ~= nil
  end
  local members = redis.call('ZRANGE', graph, '(' .. line .. scan.order .. '!', '(' .. line .. scan.stop,
    'BYLEX', 'LIMIT', 0, 64)
  ctx.visits = ctx.visits - 1 - #members
  search.behind = search.behind or scan.own and members[1]
  for _, member in ipairs(members) do
    local at, wanted, owner, rid = string.match(member, '^r %S+ q (%S+) (%S+) (%S+) (%S+)$')
    scan.order, scan.counted = at, scan.counted or permits_of(wanted) ~= nil
    if scan.last or wanted ~= 's' then
      if not scan.last then search.from[resource] = at end
      if not search.found[owner] then
        local waits_for = wanted == 's' and scan.last or scan.by
        local next_one = search.found[waits_for]
        local node = { owner = owner, rid = rid, code = wanted, resource = resource, counted = scan.counted,
          waits_for = waits_for, depth = 1 + (next_one and next_one.depth or 0) }
        search.found[owner] = node
        search.count = search.count + 1
        search.todo[search.count] = node
      end
      if wanted ~= 's' then scan.last = owner end
    end
  end
  return #members < 64
end

-- visit_waiter(ctx, search, request, node): look at what an owner that a search has found holds and waits for, 32 at a
-- time. It adds the lines behind these to `scans`, and checks whether the request may wait for the owner. `hard`: for
-- something that it holds, which is a cycle; `maybe`: the same, but permits are involved; `soft`: it waits ahead of the
-- request; the foremost of these.
local function visit_waiter(ctx, search, request, node) local graph = KEYS[3]
  local all = 'o ' .. node.owner
  local members = redis.call('ZRANGE', graph, search.cursor and '(' .. search.cursor or '[' .. all .. ' ', '(' .. all .. '!',
    'BYLEX', 'LIMIT', 0, 32)
  ctx.visits = ctx.visits - 1 - #members
  for _, member in ipairs(members) do
    local resource, order, code = string.match(member, '^o %S+ w (%S+) (%S+) (%S+) %S+$')
    if not resource then
      order, resource, code = '', string.match(member, '^o %S+ h (%S+) (%S+) %S+$')
    end
    if not search.saved then -- keep the entry: is_deadlocked may need it, and a later call would read changed data
      search.entries[#search.entries + 1] = { owner = node.owner, resource = resource, order = order, code = code }
    end
    search.scans[#search.scans + 1] =
      { resource = resource, order = order, code = code, by = node.owner, counted = node.counted }
    local wanted = search.wants[resource]
    local permits = wanted and (permits_of(code) or permits_of(wanted))
    local blocks = wanted and (wanted ~= 's' or code ~= 's')
    if search.at == 1 then blocks = permits end -- the request's own holds block it only if permits are involved
    local block = { owner = node.owner, resource = resource, order = order }
    if blocks and order == '' and (permits or node.counted) then
      search.maybe = block
    elseif blocks and order == '' then
      search.hard = block
    elseif blocks and order < request.order and not (search.soft and search.soft.order < order) then
      search.soft = block
    end
    if blocks and (permits or node.counted) then search.permits = true end
  end
  search.cursor = members[32]
  if not search.cursor then
    search.at = search.at + 1
    if not search.saved then search.loaded = search.at - 1 end
  end
end

-- find_dependents(ctx, search, request): continue a search until all owners are found that wait for the owner of the
-- request, directly or through others, or until a cycle is certain. False if that takes more than ctx.visits, which
-- counts commands and what they read.
local function find_dependents(ctx, search, request)
  for _, part in ipairs(request.parts) do
    if part.fence == '0' then search.wants[part.resource] = part.code end
    if part.fence == '0' and search.place ~= request.order then
      search.scans[#search.scans + 1] =
        { resource = part.resource, order = request.order, code = part.code, by = request.owner, counted = false, own = true }
    end
  end
  search.place = request.order
  -- at most 20,001: each step uses one of ctx.visits, or removes a line that was already read (at most 32 per waiter)
  while not search.hard do
    local scan = search.scans[#search.scans]
    if ctx.visits <= 0 then
      return false
    elseif scan then
      if scan_line(ctx, search, scan) then table.remove(search.scans) end
    elseif search.todo[search.at] then
      visit_waiter(ctx, search, request, search.todo[search.at])
    else
      return true
    end
  end
  return true
end

-- lines_of(ctx, search, request): what was loaded of those that a search has found, with the request at its place, as
-- is_deadlocked plays it through: `lines` by resource, waiters in order, with how many holds are left (`all`), how many that
-- are not shared (`alone`), that are not permits (`solid`), and the permits (`taken`); `holds` and `waits` by owner, and
-- `need`, for how many of its waits it is not yet free.
local function lines_of(ctx, search, request)
  local state = search.state or { lines = {}, holds = {}, waits = {}, size = 0 }
  local function add(owner, resource, order, code)
    local permits = permits_of(code)
    local line = state.lines[resource] or { holds = {}, own = {} }
    local entry = { owner = owner, line = line, order = order, code = code, permits = permits, resource = resource }
    local list = order == '' and state.holds or state.waits
    state.lines[resource], list[owner] = line, list[owner] or {}
    table.insert(list[owner], entry)
    table.insert(order == '' and line.holds or line, entry)
    line.max, line.mixed = search.rooms[resource], true
    if order == '' and not permits then line.own[owner] = (line.own[owner] or 0) + 1 end
  end
  for n = state.size + 1, #search.entries do
    local entry = search.entries[n]
    add(entry.owner, entry.resource, entry.order, entry.code)
  end
  for _, part in ipairs(search.state and {} or request.parts) do
    if part.fence == '0' then
      if permits_of(part.code) and not search.rooms[part.resource] then
        local room = read_capacity(ctx, part.resource)
        search.rooms[part.resource] = room and room.status == 'active' and room.max or 0
      end
      add(request.owner, part.resource, request.order, part.code)
    end
  end
  search.state, state.size, state.need = state, #search.entries, {}
  for _, wait in ipairs(state.waits[request.owner]) do wait.order, wait.line.mixed = request.order, true end
  for owner in pairs(state.holds) do state.need[owner] = 0 end
  for owner, waits in pairs(state.waits) do state.need[owner] = #waits end
  for _, line in pairs(state.lines) do
    if line.mixed then table.sort(line, function(one, other) return one.order < other.order end) end
    line.mixed, line.first, line.at, line.all, line.alone, line.solid, line.taken = false, 1, 1, 0, 0, 0, 0
    for _, wait in ipairs(line) do wait.free = nil end
    for _, hold in ipairs(line.holds) do
      line.all, line.alone = line.all + 1, line.alone + (hold.code == 's' and 0 or 1)
      line.solid, line.taken = line.solid + (hold.permits and 0 or 1), line.taken + (hold.permits or 0)
    end
  end
  ctx.visits = ctx.visits - math.ceil(#search.entries / 2)
  return state
end

-- load_waits(ctx, search): read all holds and waits of the owners that a search has found into `entries`, for
-- is_deadlocked, and the number of permits. False if that takes more than ctx.visits.
local function load_waits(ctx, search)
  for n = search.loaded + 1, search.count do
    local owner = search.todo[n].owner
    local members = members_below('o ' .. owner, math.max(ctx.visits, 1))
    ctx.visits = ctx.visits - 1 - #members
    if ctx.visits <= 0 then return false end
    for _, member in ipairs(members) do
      local resource, order, code = string.match(member, '^o %S+ w (%S+) (%S+) (%S+) %S+$')
      if not resource then
        order, resource, code = '', string.match(member, '^o %S+ h (%S+) (%S+) %S+$')
      end
      search.entries[#search.entries + 1] = { owner = owner, resource = resource, order = order, code = code }
    end
    search.loaded = n
  end
  for n = search.sized or 1, #search.entries do
    local entry = search.entries[n]
    if permits_of(entry.code) and not search.rooms[entry.resource] then
      local room = read_capacity(ctx, entry.resource)
      search.rooms[entry.resource] = room and room.status == 'active' and room.max or 0
      ctx.visits = ctx.visits - 1
    end
    search.sized = n + 1
  end
  return true
end

-- is_deadlocked(ctx, search, request): whether a request at its place would wait for ever, with permits considered. It
-- plays through who can run and give back, until no owner is left that can. The rest is a deadlock. Owners that do not
-- wait for the request, directly or through others, can always run in the end. Returns true, the lines, and who could
-- run (for left_over); nil: too much to tell.
local function is_deadlocked(ctx, search, request)
  if not load_waits(ctx, search) or ctx.visits < #search.entries / 2 then return nil end -- lines_of needs this much of the budget
  local state = lines_of(ctx, search, request)
  local gone, ready = {}, {}
  local function set_free(wait)
    wait.free, state.need[wait.owner] = true, state.need[wait.owner] - 1
    if state.need[wait.owner] == 0 then ready[#ready + 1] = wait.owner end
  end
  local function look(line)
    for i = line.at, #line do -- shared waiters can run, up to the first waiter that is not shared
      local wait = line[i]
      if not gone[wait.owner] then
        if wait.code ~= 's' or line.alone > 0 then break end
        set_free(wait)
      end
      line.at = i + 1
    end
    local wait = line[line.first]
    for i = line.first, #line do -- who does not share has its turn when all ahead have gone
      wait, line.first = line[i], i
      if not gone[wait.owner] then break end
    end
    if not wait or wait.code == 's' or wait.free then return end -- an owner that already ran needs no further check
    local others = wait.permits and line.solid or line.all - (line.own[wait.owner] or 0)
    if others == 0 and (not wait.permits or line.taken + wait.permits <= line.max) then set_free(wait) end
  end
  for owner, need in pairs(state.need) do
    if need == 0 then ready[#ready + 1] = owner end
    for _, wait in ipairs(state.waits[owner] or {}) do
      -- the resource has fewer permits than it wants: its next poll will end it
      if wait.permits and wait.permits > wait.line.max then set_free(wait) end
    end
  end
  for _, line in pairs(state.lines) do look(line) end
  local at = 1
  while ready[at] do -- at most 20,000: each owner once
    local owner = ready[at]
    if owner == request.owner then return false end
    gone[owner], at = true, at + 1
    for _, hold in ipairs(state.holds[owner] or {}) do
      local line = hold.line
      line.all, line.alone = line.all - 1, line.alone - (hold.code == 's' and 0 or 1)
      line.solid, line.taken = line.solid - (hold.permits and 0 or 1), line.taken - (hold.permits or 0)
      look(line)
    end
    for _, wait in ipairs(state.waits[owner] or {}) do look(wait.line) end
  end
  return true, state, gone
end

-- left_over(search, request, state, gone): after is_deadlocked: the place of the foremost waiter ahead of the request
-- that is left over, if there is one. The request has to go before it: at any place behind, it blocks at least as many,
-- so that waiter is left over there too. search.maybe: a holder of what the request waits for.
local function left_over(search, request, state, gone)
  local foremost
  search.maybe = nil
  for resource, wanted in pairs(search.wants) do
    local line = state.lines[resource]
    for _, wait in ipairs(line) do
      local blocks = wait.order < request.order and not gone[wait.owner] and (wanted ~= 's' or wait.code ~= 's')
      if blocks and not (foremost and foremost < wait.order) then foremost = wait.order end
    end
  end
  for owner, holds in pairs(state.holds) do
    for _, hold in ipairs(gone[owner] and {} or holds) do
      local wanted = search.wants[hold.resource]
      local blocks = wanted and (wanted ~= 's' or hold.code ~= 's')
        and (owner ~= request.owner or hold.permits or string.sub(wanted, 1, 1) == 'p')
      -- the same one each time, in whatever order a table gives them
      if blocks and not (search.maybe and search.maybe.owner < owner) then
        search.maybe = { owner = owner, resource = hold.resource, order = '' }
      end
    end
  end
  return foremost
end

-- new_search(request): a search for the owners that wait for the owner of a request, directly or through others.
-- `found`: the wait by which each owner was found first; `todo`: all by number, visited up to `at`, and the last one up
-- to `cursor`; `scans`: lines that are still to be read; `from`: by resource, the place behind which all waiters are
-- known; `behind`: whether somebody waits behind the request's own place.
local function new_search(request)
  return { todo = { { owner = request.owner, depth = 0 } }, count = 1, at = 1, scans = {}, found = {}, from = {},
    wants = {}, entries = {}, loaded = 0, rooms = {} }
end

-- place_before(request, order): a place directly before `order` in all queues of the request, and behind every waiter
-- that is before `order`. A later jump to the same place sorts before an earlier one.
local function place_before(request, order) local requests, graph = KEYS[2], KEYS[3]
  local last = string.rep('0', 26)
  for _, part in ipairs(request.parts) do
    local line = 'r ' .. part.resource .. ' q '
    local member = redis.call('ZRANGE', graph, '(' .. line .. order, '[' .. line, 'BYLEX', 'REV', 'LIMIT', 0, 1)[1]
    local before = member and string.match(member, '^r %S+ q (%d+) ')
    if before and last < before then last = before end
  end
  return last .. string.format('%012.0f', 999999999999 - redis.call('HINCRBY', requests, '#seq', 1))
end

-- find_place(ctx, request, tail, search): a place in line for a request that has to wait, at which no cycle closes. It
-- tries the place of its priority, then the last one, then just ahead of the first waiter that depends on it, and so
-- on: if these have a cycle, every place has one. With permits, not every cycle is a deadlock, so there it moves ahead
-- of those that are stuck. Returns nil, or the search that has found a cycle at every place. request.unchecked: the
-- search was too long; request.search says how far it came, and `search` is that of an earlier call.
local function find_place(ctx, request, tail, search)
  local moved = search ~= nil or request.order == tail
  search = search or new_search(request)
  for _ = 1, 1000 do
    search.short = nil
    if not find_dependents(ctx, search, request) then break end
    local ahead = search.soft and search.soft.order
    if not search.hard then
      if not search.maybe and not ahead then return nil end
      if search.permits then
        local stuck, state, gone = is_deadlocked(ctx, search, request)
        search.short = stuck == nil and request.order or nil
        if stuck == nil then break end
        if not stuck then return nil end
        ahead = left_over(search, request, state, gone)
      end
    end
    if not moved and search.behind then -- otherwise its place is the last one
      request.order = tail
      search = new_search(request)
    elseif search.hard or not ahead then
      return search
    else
      ctx.visits = ctx.visits - 1 - #request.parts
      request.order = place_before(request, ahead)
      if search.soft and search.soft.order >= request.order then search.soft = nil end
    end
    moved = true
  end
  request.unchecked, request.search = true, search
end

-- is_idle(request): whether all resources of a request are free, without holders or waiters.
local function is_idle(request)
  for _, part in ipairs(request.parts) do
    if members_below('r ' .. part.resource, 1)[1] then return false end
  end
  return true
end

-- join_line(ctx, rid, request): let a request wait at its place.
local function join_line(ctx, rid, request) local unchecked = KEYS[5]
  request.state = 'waits'
  link_request(ctx, rid, request)
  write_request(ctx, rid, request)
  set_deadline(ctx, rid, math.min(request.until_ms, ctx.now + ctx.waiter_ms))
  ctx.waiting = ctx.waiting + 1
  if request.unchecked then redis.call('ZADD', unchecked, ctx.now, rid) end
  emit_lock_event(ctx, 'lock.queued', rid, request, '')
end

-- gcra(due, now, slack): one step of the generic cell rate algorithm. due: when all so far would have come at exactly the rate. slack: how
-- far ahead of that the next may come. Returns due, or now if that is later; and how long to wait, which is not above 0 if the next may
-- come now.
local function gcra(due, now, slack)
  if due < now then due = now end
  return due, due - now - slack
end

-- refuse_rate(ctx, agent): check the rate limit of an agent. Returns nil and counts the request if it is allowed, or
-- the ms to wait. GCRA: the score is the time (µs) at which the agent's requests so far would have arrived at exactly
-- the allowed rate.
local function refuse_rate(ctx, agent) local rates = KEYS[7]
  if ctx.settings_rate_per_minute == 0 then return nil end
  local gap = math.floor(60000000 / ctx.settings_rate_per_minute)
  local due, early = gcra(tonumber(redis.call('ZSCORE', rates, 'rate ' .. agent) or 0), ctx.now * 1000, gap * (ctx.rate_burst - 1))
  if early > 0 then return math.ceil(early / 1000) end
  redis.call('ZADD', rates, due + gap, 'rate ' .. agent)
  ctx.due = math.min(ctx.due, ctx.now + 60000)
end

-- unavailable(ctx, request): the reason why the wanted permits cannot be granted at present, or nil.
local function unavailable(ctx, request)
  for _, part in ipairs(request.parts) do
    local wanted = permits_of(part.code)
    if wanted then
      local room = read_capacity(ctx, part.resource)
      if not room then return 'no_capacity' end
      if room.status == 'draining' then return 'draining' end
      if wanted > room.max then return 'too_many' end
    end
  end
end

-- admit(ctx, rid, request): grant a new request, let it wait, or refuse it. Returns the status and its detail (the
-- second field of the reply).
-- LATE
local function admit(ctx, rid, request) local requests = KEYS[2]
  read_rules(ctx)
  expire_nearby(ctx, request.parts)
  local covered = cover_parts(ctx, request)
  local refusal = unavailable(ctx, request)
  if refusal then
    remember(ctx, rid, 'unavailable ' .. refusal)
    return 'unavailable', refusal
  end
  local retry_ms = not covered and refuse_rate(ctx, request.agent)
  if retry_ms then return 'rate_limited', retry_ms end
  local seq = redis.call('HINCRBY', requests, '#seq', 1)
  local head_start = request.priority * ctx.step_ms
  local tail = string.format('%014.0f%012.0f', ctx.now + 9 * ctx.step_ms, seq)
  local upgrade = request.parts[1].depends_on ~= '' and not request.parts[2]
  local own = upgrade and string.format('%026.0f', seq)
    or string.format('%014.0f%012.0f', ctx.now + head_start, seq)
  local other = not covered and waits_as(request.owner)
  if other and (not is_idle(request) or find_obstacle(ctx, request, own)) then
    remember(ctx, rid, 'owner_waits ' .. other)
    return 'owner_waits', other
  end
  local circle, victim
  for round = 1, 5 do
    request.order = own -- after a victim was ended, try the place by priority again
    local waits = find_obstacle(ctx, request, own)
    if waits and request.until_ms == ctx.now then
      remember(ctx, rid, 'busy')
      return 'busy'
    end
    local search = waits and ctx.detection and find_place(ctx, request, tail)
    request.unchecked = request.unchecked or not ctx.detection
    if not search and request.order ~= own then waits = find_obstacle(ctx, request, request.order) end
    if not waits then
      grant(ctx, rid, request, 'held', ctx.now + request.ttl_ms)
      emit_lock_event(ctx, 'lock.acquired', rid, request, '')
      return 'granted'
    elseif not search then
      join_line(ctx, rid, request)
      return 'queued'
    elseif round == 5 then
      circle = cycle_of(request, search)
    else
      circle, victim = break_cycle(ctx, request, search)
      if not victim then break end
    end
  end
  emit_lock_event(ctx, 'lock.deadlock', rid, request, ' cycle=' .. circle)
  remember(ctx, rid, 'deadlock ' .. circle)
  return 'deadlock', circle
end

-- sweep_ended(ctx, limit): delete outcomes after two minutes, and unused rate entries; at most 100 × limit (1,000) of
-- each. Returns the time of the next sweep.
local function sweep_ended(ctx, limit) local requests, deadlines, rates = KEYS[2], KEYS[4], KEYS[7]
  local most = math.min(1000, 100 * limit)
  local rids = redis.call('ZRANGE', deadlines, '-inf', ctx.now - 1e15, 'BYSCORE', 'LIMIT', 0, most)
  if #rids > 0 then
    -- at most 1,000: most
    redis.call('ZREM', deadlines, unpack(rids))
    redis.call('HDEL', requests, unpack(rids))
  end
  local idle = redis.call('ZRANGE', rates, '-inf', ctx.now * 1000, 'BYSCORE', 'LIMIT', 0, most)
  if #idle > 0 then redis.call('ZREM', rates, unpack(idle)) end  -- at most 1,000: most
  if #rids == most or #idle == most then return ctx.now end
  local oldest = redis.call('ZRANGE', deadlines, 0, 0, 'WITHSCORES')[2]
  if oldest and tonumber(oldest) < 0 then return math.max(oldest + 1e15, ctx.now) + 1000 end
  return redis.call('EXISTS', rates) == 1 and ctx.now + 60000 or MAX_SAFE
end

-- end_due(ctx, limit): end at most limit requests whose deadline has come, and forget as many that ended two minutes
-- ago. Returns how many were ended. ctx.caught_up: there are no more. ctx.due: when there is work again. Forgetting may
-- wait for a second, so that not every call does it. A request with many locks counts for several.
-- LATE
local function end_due(ctx, limit) local deadlines = KEYS[4]
  ctx.caught_up = ctx.now < ctx.due
  if ctx.caught_up then return 0 end
  local rids = redis.call('ZRANGE', deadlines, 0, ctx.now, 'BYSCORE', 'LIMIT', 0, limit)
  local ended = rids[1] and end_rids(ctx, rids, 100 + 5 * limit) or 0
  ctx.caught_up = #rids < limit and ended == #rids
  local next_due = redis.call('ZRANGE', deadlines, 0, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2]
  ctx.due = math.min(tonumber(next_due or MAX_SAFE), sweep_ended(ctx, limit))
  ctx.grants, ctx.looks = nil, nil -- the call's own releases get a fresh budget, so that they do not wait for the overdue ones
  return ended
end

-- catch_up(ctx, rids): end overdue requests: up to 16 of the domain, and all overdue ones among rids.
-- LATE
local function catch_up(ctx, rids)
  end_due(ctx, 16)
  end_overdue(ctx, rids)
end

-- create_base(clock): store the layout and the clock of a new base. The clock is `test` or `server` (the default).
local function create_base(clock) local config = KEYS[1]
  redis.call('HSET', config, 'layout', 1, 'layout_min', 1, 'clock', clock == 'test' and 'test' or 'server')
end

-- mirror_hint(whom, words): publish a hint on the plain channel of the same name, too, for clients that can only
-- SUBSCRIBE. PUBLISH reaches all nodes of a cluster and is expensive there. So it is only called if the setting
-- `mirror` is on. No other Lua file may use PUBLISH.
local function mirror_hint(whom, words) local channel = KEYS[9]
  redis.pcall('PUBLISH', channel .. whom, words)
end

-- close_domain(ctx): store the time, the counters and the changed requests, and publish the hints of this call.
-- LATE
local function close_domain(ctx) local requests, channel = KEYS[2], KEYS[9]
  local changes = { '#now', ctx.now_text, '#offset', ctx.offset, '#fence', string.format('%.0f', ctx.fence),
    '#waiting', ctx.waiting, '#due', ctx.due }
  for rid in pairs(ctx.changed or {}) do
    changes[#changes + 1] = rid
    changes[#changes + 1] = ctx.texts[rid]
  end
  for first = 1, #changes, 7000 do
    redis.call('HSET', requests, unpack(changes, first, math.min(first + 6999, #changes)))
  end
  if not ctx.exists then create_base() end
  for resource, words in pairs(ctx.hints or {}) do
    redis.pcall('SPUBLISH', channel .. resource, words)
    if ctx.settings_mirror then mirror_hint(resource, words) end
  end
end

-- new_request(ctx, parts): a request for these locks that neither holds nor waits yet.
local function new_request(ctx, parts)
  return {
    state = 'held', owner = owner, agent = agent ~= '' and agent or owner, priority = priority, since_ms = ctx.now,
    born_ms = born_ms > 0 and born_ms or ctx.now, ttl_ms = ttl_ms > 0 and ttl_ms or ctx.settings_lease_ms,
    until_ms = ctx.now + wait_ms, order = '-', granted_ms = 0, parts = parts, purpose = purpose,
  }
end

-- replayed_answer(ctx, rid): the answer to a request that is known: its status and details, and the request itself if
-- it lives.
local function replayed_answer(ctx, rid) local deadlines = KEYS[4]
  local text = record_of(ctx, rid)
  local outcome, detail = string.match(text, '^ended (%S+) ?(.*)$')
  if outcome == 'busy' or outcome == 'deadlock' or outcome == 'unavailable' or outcome == 'owner_waits' then
    return outcome, detail ~= '' and detail or nil
  end
  if outcome then return 'ended', outcome end
  local request = read_request(text)
  request.deadline_ms = tonumber(redis.call('ZSCORE', deadlines, rid))
  return request.order == '-' and 'granted' or 'queued', nil, request
end

-- decide(ctx, rid, parts): the answer to a request for these locks, new or known: the status, its details, and the
-- request itself if it lives.
-- LATE
local function decide(ctx, rid, parts)
  catch_up(ctx, { rid })
  if record_of(ctx, rid) then return replayed_answer(ctx, rid) end
  if math.abs(ctx.now - issued_ms) > 60000 then return 'request_expired' end
  local request = new_request(ctx, parts)
  local status, detail = admit(ctx, rid, request)
  return status, detail, request
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

-- wait_answer(ctx, rid, request): what else a waiter is answered: its place, how often to ask, and whether all cycles
-- were searched for.
local function wait_answer(ctx, rid, request) local unchecked = KEYS[5]
  read_rules(ctx)
  return place_of(request), ctx.poll_ms, ctx.detection and redis.call('ZSCORE', unchecked, rid) and 0 or 1
end

  arg_made = { close_domain = close_domain, decide = decide, wait_answer = wait_answer }
  return arg_made
end

local parts = { { code = mode_of(mode, permits), fence = '0', depends_on = '', resource = resource } }
local status, detail, request = arg_rare().decide(ctx, rid, parts)
arg_rare().close_domain(ctx)
if status == 'granted' then return { status, ctx.now, tonumber(request.parts[1].fence), request.deadline_ms } end
if status == 'queued' then return { status, ctx.now, arg_rare().wait_answer(ctx, rid, request) } end
return { status, ctx.now, detail }
