#!lua flags=allow-oom
-- generated from lua/lock/offline.v1.lua by lua/bundle.py; do not edit
-- lock.offline.v1: end all holds and waits of an owner, or of all owners of an agent, at once, and hand over to the
-- next waiters. Later requests are not affected. If the call is sent again with its rid, it returns the same answer and
-- does not touch newer requests. It ends at most 100 requests, fewer if they have many locks; more=1: there are more,
-- call again with a new rid.
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
-- ARGV   who       id
-- ARGV   by        enum owner|agent ?=owner
-- ARGV   trace     bytes 0..128   ?=
-- ARGV   source    bytes 0..200   ?=
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN ok        now_ms:int ended:ids more:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  lock.released lock.promoted lock.expired lock.cancelled
-- ROLE   work
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   8 + 3n commands if no request waits; at most 570 commands, 14,000 steps

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
local who = ARGV[2]
if not who or #who > 200 or not arg_find(who, '^[%w._:/@+-]+$') then
  return refuse('who', who, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local by = ARGV[3]
if by == '' then
  by = 'owner'
elseif by ~= 'owner' and by ~= 'agent' then
  return refuse('by', by, 'one of owner, agent')
end
local trace = ARGV[4]
if not trace or #trace > 128 then
  return refuse('trace', trace and #trace, '0 to 128 bytes long')
end
local source = ARGV[5]
if not source or #source > 200 then
  return refuse('source', source and #source, '0 to 200 bytes long')
end
local now_ms = ARGV[6]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[6], 'an integer from 0 to 9000000000000') end
end
if #ARGV ~= 6 then
  return redis.error_reply('ADEQ_ARG expected 6 arguments, got ' .. #ARGV)
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'mirror', 'events_max')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_mirror = row[3] == '1', settings_events_max = tonumber(row[4] or 100000), offset = false, stepped = false, texts = false, fence = false, waiting = false, due = false }
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

-- record_of(ctx, rid): the record of a request, with the changes of this call; false if there is none.
local function record_of(ctx, rid) local requests = KEYS[2]
  if ctx.texts[rid] == nil then ctx.texts[rid] = redis.call('HGET', requests, rid) end
  return ctx.texts[rid]
end

local arg_made
function arg_rare()
  if arg_made then return arg_made end

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

-- end_wait(ctx, rid, request): end a waiter whose time has come: its wait is over, or its client has stopped asking.
local function end_wait(ctx, rid, request)
  local outcome = ctx.now >= tonumber(request.until_ms) and 'timed_out' or 'abandoned'
  end_request(ctx, rid, request, outcome, 'lock.cancelled', ' reason=' .. outcome)
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

-- leave(ctx, rid): end a request for its client. Returns `released` or `cancelled`, or the earlier outcome if it had
-- already ended, or nil if it is unknown.
-- LATE
local function leave(ctx, rid)
  local request = live_request(ctx, rid)
  if not request then return string.match(record_of(ctx, rid) or '', '^ended (%S+)') end
  if request.order ~= '-' then
    end_request(ctx, rid, request, 'cancelled', 'lock.cancelled', ' reason=cancelled')
    return 'cancelled'
  end
  end_request(ctx, rid, request, 'released', 'lock.released', '')
  return 'released'
end

  arg_made = { close_domain = close_domain, remember = remember, live_request = live_request, promote_freed = promote_freed, end_due = end_due, leave = leave }
  return arg_made
end

local memory = '#offline:' .. rid
local ctx, refused = open_domain({ memory })
if refused then return refused end
arg_rare().end_due(ctx, 16)
local more, list = string.match(record_of(ctx, memory) or '', '^ended offline ([01])(.*)$')
local ended = {}
if more then
  for one in string.gmatch(list, '%S+') do ended[#ended + 1] = one end
else
  local members = members_below((by == 'agent' and 'a ' or 'o ') .. who, 101)
  more = members[101] and '1' or '0'
  local seen, work = {}, 1000
  for i = 1, math.min(#members, 100) do
    if work <= 0 then
      more = '1'
      break
    end
    local its_rid = string.match(members[i], '^.* (%S+)$')
    if not seen[its_rid] then
      seen[its_rid] = true
      work = work - 4 - #arg_rare().live_request(ctx, its_rid).parts
      arg_rare().leave(ctx, its_rid)
      ended[#ended + 1] = its_rid
    end
  end
  arg_rare().remember(ctx, memory, 'offline ' .. more .. ' ' .. table.concat(ended, ' '))
  arg_rare().promote_freed(ctx)
end
arg_rare().close_domain(ctx)
return { 'ok', ctx.now, ended, tonumber(more) }
