#!lua
-- generated from lua/lock/acquire.v1.lua by lua/bundle.py; do not edit
-- lock.acquire.v1: take a lock, or wait for it in line. The rid names the request: whoever sends it again hears how it
-- stands, and nothing changes. `issued_ms` is the domain's clock when the request was made; after a minute it is
-- refused as `request_expired` (so is one from the future). A mode is compatible with itself where it is shared, or
-- permits while there are enough; an owner's own holds never stand against its shared or exclusive ones. What it holds
-- strongly enough already it is granted again under the same fence. Others are granted in the order of their coming, a
-- priority being a head start; with wait_ms=0 `busy` is the answer instead. An owner that waits already may take what
-- nobody has or wants; else `owner_waits` names its request; cancel it where that is an old try of yours.
-- `deadlock`: to wait would close a circle: `owner>mode>resource` for each who waits, for what the next one has or is
-- ahead for. checked=0: call detect. Where a call that is sent again hears `granted` of what was handed over meanwhile,
-- poll or renew before deadline_ms.
--
-- KEYS   config    hash           {base}:config
-- KEYS   requests  hash           {base}:requests
-- KEYS   graph     zset           {base}:graph
-- KEYS   deadlines zset           {base}:deadlines
-- KEYS   unchecked zset           {base}:unchecked
-- KEYS   capacity  hash           {base}:capacity
-- KEYS   rates     zset           {base}:rates
-- KEYS   events    stream         {base}:events
-- KEYS   channel   prefix/channel {base}:channel: id
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
-- COST   9 commands where nobody holds it, 19 to wait for somebody, more where its owner holds others that are waited for
-- INCLUDE base_time open_domain emit
-- RARELY code_of note_line record_of read_request live_request members_of set_record remember parts_text tell
-- RARELY note_freed permits_of read_capacity write_capacity use_permits end_request end_wait set_deadline members_below
-- RARELY waits_as strongest lacks_support is_held_against is_behind find_obstacle next_fence link_request write_request
-- RARELY grant read_rules hand_over promote promote_freed end_rids sweep_ended end_due end_overdue catch_up new_request
-- RARELY recall end_around cover_parts unavailable refuse_rate is_idle scan_line find_dependents place_before
-- RARELY load_waits is_stuck find_place circle_of choose_victim end_deadlock break_circle join_line admit decide
-- RARELY create_base close_domain place_of wait_answer

local LAYOUT = 1
local CREATED = 1
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
if #KEYS ~= 10 then
  return redis.error_reply('ADEQ_ARG expected 10 keys, got ' .. #KEYS)
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

-- base_time(layout_min, clock): the time in ms, as a number and as text; or nil and the error to answer with, where
-- these scripts, or the clock that the call assumes, do not fit what is stored.
-- NEEDS now_ms
local function base_time(layout_min, clock)
  if tonumber(layout_min or LAYOUT) > LAYOUT then
    return nil, redis.error_reply('ADEQ_LAYOUT this data needs scripts of layout ' .. layout_min
      .. ' or newer, these are of layout ' .. LAYOUT .. ': upgrade this client')
  end
  if (clock == 'test') ~= (now_ms > 0) then
    return nil, redis.error_reply('ADEQ_CLOCK now_ms must be '
      .. (clock == 'test' and 'sent: this base was created with clock=test'
        or '0: this base was not created with clock=test'))
  end
  if now_ms > 0 then return now_ms, string.format('%.0f', now_ms) end
  local time = redis.call('TIME')
  local ms = math.floor(time[2] / 1000)
  return time[1] * 1000 + ms, string.format('%s%03d', time[1], ms)
end

-- open_domain(rids): what every call needs of the domain: settings, counters, the records of these requests, and the
-- time, which never goes back: the offset takes up what the server's clock has lost; or nil and the error to answer
-- with.
-- NEEDS config requests base_time
local function open_domain(rids) local config, requests = KEYS[1], KEYS[2]
  local set = redis.call('HMGET', config, 'layout_min', 'clock', 'events_max', 'lease_ms', 'rate_per_minute')
  local now, now_text = base_time(set[1], set[2])
  if not now then return nil, now_text end
  local row = redis.call('HMGET', requests, '#now', '#offset', '#fence', '#waiting', '#due', unpack(rids))  -- at most 1,000: items
  local last, before = row[1] or 0, tonumber(row[2] or 0)
  local offset = math.max(before, last - now)
  if offset ~= 0 then
    now = now + offset
    now_text = string.format('%.0f', now)
  end
  local texts = { [rids[1] or ''] = row[6] }
  for i = 2, #rids do texts[rids[i]] = row[5 + i] end
  return {
    exists = set[1], events_max = set[3] or 100000, lease_ms = set[4] or 30000, rate_per_minute = set[5] ~= '0' and set[5] or nil,
    now = now, now_text = now_text, offset = offset, stepped = offset ~= before, texts = texts,
    fence = row[3] or 0, waiting = (row[4] or 0) + 0, due = (row[5] or 0) + 0,
  }
end

-- emit(conf, event, id, detail): add one entry to the stream, where events are kept; detail is name=value words of ours, or ''.
-- NEEDS events trace source
local function emit(conf, event, id, detail) local events = KEYS[8]
  if conf.events_max == '0' then return end
  if detail ~= '' and source == '' and trace == '' then
    redis.call('XADD', events, 'MAXLEN', '~', conf.events_max, '*', 'event', event, 'timestamp', conf.now_text, 'id', id,
      'payload', detail)
    return
  end
  local entry = { 'event', event, 'timestamp', conf.now_text, 'id', id }
  if detail ~= '' then entry[7], entry[8] = 'payload', detail end
  if source ~= '' then entry[#entry + 1] = 'source'; entry[#entry + 1] = source end
  if trace ~= '' then entry[#entry + 1] = 'trace'; entry[#entry + 1] = trace end
  redis.call('XADD', events, 'MAXLEN', '~', conf.events_max, '*', unpack(entry))  -- at most 12: fields of an event
end

local requests, graph, deadlines, channel = KEYS[2], KEYS[3], KEYS[4], KEYS[9]

local conf, refused = open_domain({ rid })
if refused then return refused end
local fresh = not conf.texts[rid] and math.abs(conf.now - issued_ms) <= 60000
local deadline_ms = conf.now + (ttl_ms > 0 and ttl_ms or conf.lease_ms)
if fresh and conf.exists and not conf.stepped and conf.now < conf.due and conf.due <= deadline_ms
  and mode ~= 'permit' and not conf.rate_per_minute
  and not redis.call('ZRANGE', graph, '[r ' .. resource .. ' ', '(r ' .. resource .. '!', 'BYLEX', 'LIMIT', 0, 1)[1] then
  -- nobody holds it, nobody waits for it, nothing else is to be seen to
  if agent == '' then agent = owner end
  local code, fence = mode == 'shared' and 's' or 'x', math.max(conf.fence + 1, conf.now * 1000)
  local fence_text, now_text = string.format('%.0f', fence), conf.now_text
  local locks = code .. '/' .. fence_text .. '=' .. resource
  redis.call('ZADD', graph, 0, 'r ' .. resource .. ' h ' .. code .. ' ' .. owner .. ' ' .. rid,
    0, 'o ' .. owner .. ' h ' .. resource .. ' ' .. code .. ' ' .. rid, 0, 'a ' .. agent .. ' ' .. rid)
  redis.call('ZADD', deadlines, deadline_ms, rid)
  local born_text = born_ms > 0 and string.format('%.0f', born_ms) or now_text
  redis.call('HSET', requests, '#now', now_text, '#fence', fence_text, rid, 'held ' .. owner .. ' ' .. agent
    .. string.format(' %d ', priority) .. now_text .. ' ' .. born_text .. string.format(' %d 0 - ', deadline_ms - conf.now)
    .. now_text .. ' ' .. locks .. ' ' .. purpose)
  emit(conf, 'lock.acquired', rid, 'owner=' .. owner .. ' agent=' .. agent .. ' locks=' .. locks)
  redis.pcall('SPUBLISH', channel .. resource, 'acquired:' .. agent)
  return { 'granted', conf.now, fence, deadline_ms }
end

-- code_of(mode, permits): a mode as the graph has it: `x`, `s`, or `p` and the number of permits.
local function code_of(mode, permits)
  return mode == 'exclusive' and 'x' or mode == 'shared' and 's' or string.format('p%.0f', permits)
end

-- note_line(conf, resource): somebody in line for it may have a turn now: for promote_freed to look at.
local function note_line(conf, resource)
  conf.freed = conf.freed or {}
  conf.freed[#conf.freed + 1] = resource
end

-- record_of(conf, rid): the record of a request as this call has left it; false if there is none.
-- NEEDS requests
local function record_of(conf, rid) local requests = KEYS[2]
  if conf.texts[rid] == nil then conf.texts[rid] = redis.call('HGET', requests, rid) end
  return conf.texts[rid]
end

-- read_request(text): a live request from its record. README.md has the fields; all of them stay strings. A part that
-- rests on a hold of its owner's (`leans`), and waits, ends with that hold.
local function read_request(text)
  local request, parts = {}, {}
  local list
  request.state, request.owner, request.agent, request.priority, request.since_ms, request.born_ms, request.ttl_ms,
    request.until_ms, request.order, request.granted_ms, list, request.purpose =
    string.match(text, '^(%S+) (%S+) (%S+) (%d) (%d+) (%d+) (%d+) (%d+) (%S+) (%d+) (%S+) (.*)$')
  for code, leans, fence, resource in string.gmatch(list, '(%w+)(%+?)/(%d+)=([^,]+)') do
    parts[#parts + 1] = { code = code, leans = leans, fence = fence, resource = resource }
  end
  request.parts = parts
  return request
end

-- live_request(conf, rid): a request that holds or waits; nil if it has ended or is not known.
-- NEEDS record_of read_request
local function live_request(conf, rid)
  local text = record_of(conf, rid)
  if text and string.sub(text, 1, 6) ~= 'ended ' then return read_request(text) end
end

-- members_of(rid, request): its members of the graph: for each lock one by resource and one by owner, at last one by
-- agent. Who waits has a place in the order of the domain, but where it rests on a hold of its owner's; who holds has
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

-- set_record(conf, rid, text): note the record of a request, for the rest of this call and for close_domain, which
-- stores it.
local function set_record(conf, rid, text)
  conf.texts[rid] = text
  conf.changed = conf.changed or {}
  conf.changed[rid] = true
end

-- remember(conf, rid, outcome): keep for two minutes how a request ended: one that has ended never holds again. In
-- `deadlines` those stand below zero, apart from the live.
-- NEEDS deadlines set_record
local function remember(conf, rid, outcome) local deadlines = KEYS[4]
  set_record(conf, rid, 'ended ' .. outcome)
  redis.call('ZADD', deadlines, conf.now + 120000 - 1e15, rid)
  conf.due = math.min(conf.due, conf.now + 121000)
end

-- parts_text(request): the locks of a request as its record and its events have them.
local function parts_text(request)
  local words = {}
  for i, part in ipairs(request.parts) do
    words[i] = part.code .. part.leans .. '/' .. part.fence .. '=' .. part.resource
  end
  return table.concat(words, ',')
end

-- tell(conf, event, rid, request, detail): one event, and a hint to whoever listens to one of its resources; to who waits
-- for the request itself, if it has got what it waits for or has ended without. detail is words of ours with a space
-- before each, or ''.
-- NEEDS emit parts_text
local function tell(conf, event, rid, request, detail)
  local agent, hints = request.agent, conf.hints or {}
  emit(conf, event, rid, 'owner=' .. request.owner .. ' agent=' .. agent .. ' locks=' .. parts_text(request) .. detail)
  conf.hints = hints
  local word = string.sub(event, 6) .. ':' .. agent
  local function hint(whom) hints[whom] = hints[whom] and hints[whom] .. ' ' .. word or word end
  for _, part in ipairs(request.parts) do hint(part.resource) end
  if event == 'lock.promoted' or event == 'lock.cancelled' or event == 'lock.deadlock' then hint(rid) end
end

-- note_freed(conf, request): note the lines of what a request leaves or lets others share, and who may have lost what its
-- own wait rests on.
-- NEEDS note_line
local function note_freed(conf, request)
  for _, part in ipairs(request.parts) do note_line(conf, part.resource) end
  if request.order == '-' then
    conf.losers = conf.losers or {}
    conf.losers[request.owner] = true
  end
end

-- permits_of(code): how many permits a code stands for; nil if it is that of another mode.
local function permits_of(code) return tonumber(string.match(code, '^p(%d+)$')) end

-- read_capacity(conf, resource): its permits and whether they may be given out; nil if it has none.
-- NEEDS capacity
local function read_capacity(conf, resource) local capacity = KEYS[6]
  local max, status, silent_ms, seen_ms, used =
    string.match(redis.call('HGET', capacity, resource) or '', '^(%d+) (%l+) (%d+) (%d+) (%-?%d+)$')
  if not max then return nil end
  local silent = tonumber(silent_ms) > 0 and conf.now - tonumber(seen_ms) > tonumber(silent_ms)
  return { max = tonumber(max), status = status, silent_ms = silent_ms, seen_ms = seen_ms, used = tonumber(used),
    open = status == 'active' and not silent, silent = silent }
end

-- write_capacity(resource, room): store what read_capacity reads.
-- NEEDS capacity
local function write_capacity(resource, room) local capacity = KEYS[6]
  redis.call('HSET', capacity, resource, string.format('%.0f %s %s %s %.0f', room.max, room.status, room.silent_ms,
    room.seen_ms, room.used))
end

-- use_permits(conf, part, sign): count the permits of a part as taken (1) or given back (-1).
-- NEEDS permits_of read_capacity write_capacity
local function use_permits(conf, part, sign)
  local room = read_capacity(conf, part.resource)
  if not room then return end
  room.used = room.used + sign * permits_of(part.code)
  write_capacity(part.resource, room)
end

-- end_request(conf, rid, request, outcome, event, detail): take a request out of everything, and remember how it
-- ended.
-- NEEDS graph unchecked members_of remember tell note_freed permits_of use_permits
local function end_request(conf, rid, request, outcome, event, detail) local graph, unchecked = KEYS[3], KEYS[5]
  redis.call('ZREM', graph, unpack(members_of(rid, request)))  -- at most 65: members of a request
  remember(conf, rid, outcome)
  if request.order ~= '-' then
    conf.waiting = conf.waiting - 1
    redis.call('ZREM', unchecked, rid)
  end
  note_freed(conf, request)
  for _, part in ipairs(request.parts) do
    if request.order == '-' and permits_of(part.code) then use_permits(conf, part, -1) end
  end
  tell(conf, event, rid, request, detail)
end

-- end_wait(conf, rid, request): end a waiter whose time has come: its wait is over, or nobody has asked for it.
-- NEEDS end_request
local function end_wait(conf, rid, request)
  local outcome = conf.now >= tonumber(request.until_ms) and 'timed_out' or 'abandoned'
  end_request(conf, rid, request, outcome, 'lock.cancelled', ' reason=' .. outcome)
end

-- set_deadline(conf, rid, deadline_ms): when a live request ends by itself. conf.due is not after any of these.
-- NEEDS deadlines
local function set_deadline(conf, rid, deadline_ms) local deadlines = KEYS[4]
  redis.call('ZADD', deadlines, deadline_ms, rid)
  conf.due = math.min(conf.due, deadline_ms)
end

-- members_below(words, limit): the first members of the graph that begin with these words, and go on.
-- NEEDS graph
local function members_below(words, limit) local graph = KEYS[3]
  return redis.call('ZRANGE', graph, '[' .. words .. ' ', '(' .. words .. '!', 'BYLEX', 'LIMIT', 0, limit)
end

-- waits_as(owner): the rid under which an owner waits already; nil if it does not.
-- NEEDS members_below
local function waits_as(owner)
  local member = members_below('o ' .. owner .. ' w', 1)[1]
  return member and string.match(member, '^.* (%S+)$')
end

-- strongest(owner, resource): the code of the strongest hold of an owner on a resource; nil if it has none.
-- NEEDS graph
local function strongest(owner, resource) local graph = KEYS[3]
  local held = 'o ' .. owner .. ' h ' .. resource
  local last = redis.call('ZRANGE', graph, '(' .. held .. '!', '[' .. held .. ' ', 'BYLEX', 'REV', 'LIMIT', 0, 1)[1]
  return last and string.match(last, '^.* (%S+) %S+$')
end

-- lacks_support(request): whether a waiter rests on holds of its owner's of which one is gone.
-- NEEDS strongest
local function lacks_support(request)
  for _, part in ipairs(request.parts) do
    if part.leans ~= '' then
      local code = strongest(request.owner, part.resource)
      if code ~= 'x' and (code ~= 's' or (part.code == 'x' and part.fence ~= '0')) then return true end
    end
  end
  return false
end

-- is_held_against(conf, part, owner): whether holders of the resource keep this owner from it. Holds stand in the
-- order permits, shared, exclusive.
-- NEEDS graph permits_of read_capacity
local function is_held_against(conf, part, owner) local graph = KEYS[3]
  local held = 'r ' .. part.resource .. ' h'
  local low, high = '[' .. held .. ' ', '(' .. held .. '!'
  if part.code == 'x' then
    local own = 'o ' .. owner .. ' h ' .. part.resource
    return redis.call('ZLEXCOUNT', graph, low, high) > redis.call('ZLEXCOUNT', graph, '[' .. own .. ' s', '(' .. own .. '!')
  end
  local code, by = string.match(redis.call('ZRANGE', graph, high, low, 'BYLEX', 'REV', 'LIMIT', 0, 1)[1] or '',
    '^r %S+ h (%S+) (%S+) %S+$')
  if part.code ~= 's' then
    local room = read_capacity(conf, part.resource)
    return code == 'x' or code == 's' or not room or not room.open
      or room.used + permits_of(part.code) > room.max
  end
  if code == 'x' then return by ~= owner end
  return code ~= nil and code ~= 's'
end

-- is_behind(part, order): whether somebody who waits for the resource before that place goes first. Shared waiters
-- pass those shared waiters that wait for something else as well, up to 64 of them.
-- NEEDS graph
local function is_behind(part, order) local graph = KEYS[3]
  local line, most = 'r ' .. part.resource .. ' q ', part.code == 's' and 64 or 1
  local ahead = redis.call('ZRANGE', graph, '[' .. line, '(' .. line .. order, 'BYLEX', 'LIMIT', 0, most)
  if #ahead == most then return true end
  for _, member in ipairs(ahead) do
    if not string.find(member, '^r %S+ q %S+ s ') then return true end
  end
  return false
end

-- find_obstacle(conf, request, order): why a request for that place in line has to wait: the resource, and whether it
-- is for its holders (else for those ahead); nil if it need not.
-- NEEDS is_held_against is_behind
local function find_obstacle(conf, request, order)
  for _, part in ipairs(request.parts) do
    if part.fence == '0' then
      if is_held_against(conf, part, request.owner) then return part.resource, true end
      if is_behind(part, order) then return part.resource, false end
    end
  end
end

-- next_fence(conf): a fence above all that were given out before, even if the last second was lost; as text.
local function next_fence(conf)
  conf.fence = math.max(conf.fence + 1, conf.now * 1000)
  return string.format('%.0f', conf.fence)
end

-- link_request(rid, request): add its members to the graph.
-- NEEDS graph members_of
local function link_request(rid, request) local graph = KEYS[3]
  local scored = {}
  for i, member in ipairs(members_of(rid, request)) do
    scored[2 * i - 1], scored[2 * i] = 0, member
  end
  redis.call('ZADD', graph, unpack(scored))  -- at most 130: two for each member of a request
end

-- write_request(conf, rid, request): note the record of a live request; read_request reads it.
-- NEEDS parts_text set_record
local function write_request(conf, rid, request)
  set_record(conf, rid, string.format('%s %s %s %.0f %.0f %.0f %.0f %.0f %s %.0f ', request.state, request.owner,
    request.agent, request.priority, request.since_ms, request.born_ms, request.ttl_ms, request.until_ms, request.order,
    request.granted_ms) .. parts_text(request) .. ' ' .. request.purpose)
end

-- grant(conf, rid, request, status, deadline_ms): make it a holder. A lock that its owner did not hold before gets a
-- fence above all that were given out before.
-- NEEDS next_fence permits_of set_deadline link_request write_request use_permits
local function grant(conf, rid, request, status, deadline_ms)
  local fence = next_fence(conf)
  for _, part in ipairs(request.parts) do
    part.leans = ''
    if part.fence == '0' then part.fence = fence end
    if permits_of(part.code) then use_permits(conf, part, 1) end
  end
  request.state, request.order, request.until_ms = status, '-', 0
  request.granted_ms, request.deadline_ms = conf.now, deadline_ms
  link_request(rid, request)
  write_request(conf, rid, request)
  set_deadline(conf, rid, deadline_ms)
end

-- read_rules(conf): the settings that few calls need, added to conf.
-- NEEDS config
local function read_rules(conf) local config = KEYS[1]
  if conf.claim_ms then return end
  local row = redis.call('HMGET', config, 'poll_ms', 'claim_ms', 'waiter_ms', 'priority_step_ms', 'policy',
    'detect_visits', 'rate_burst')
  conf.poll_ms, conf.claim_ms = tonumber(row[1] or 2000), tonumber(row[2] or 5000)
  conf.waiter_ms, conf.step_ms = tonumber(row[3] or 15000), tonumber(row[4] or 5000)
  conf.policy, conf.visits = row[5] or 'requester', tonumber(row[6] or 512)
  conf.rate_burst = tonumber(row[7] or 10)
end

-- hand_over(conf, rid, request): make a waiter a holder. It has a short time to claim what it was handed. Those behind
-- it may follow it, in every line where it stood.
-- NEEDS graph unchecked members_of grant read_rules tell note_freed
local function hand_over(conf, rid, request) local graph, unchecked = KEYS[3], KEYS[5]
  read_rules(conf)
  redis.call('ZREM', graph, unpack(members_of(rid, request)))  -- at most 65: members of a request
  redis.call('ZREM', unchecked, rid)
  conf.waiting = conf.waiting - 1
  grant(conf, rid, request, 'granted', conf.now + conf.claim_ms)
  tell(conf, 'lock.promoted', rid, request, '')
  if request.parts[2] then note_freed(conf, request) end
end

-- promote(conf, resource, left): grant what can be granted to those in line for a resource, first come first served, a
-- run of shared waiters together. Grants and ends are `left` at most; answers how many are left then. What stands in a
-- waiter's way is the same in all its lines, so it is looked for once (conf.tried) until somebody else is granted.
-- NEEDS deadlines members_below set_deadline record_of read_request end_wait find_obstacle hand_over
local function promote(conf, resource, left) local deadlines = KEYS[4]
  local most, members = left, members_below('r ' .. resource .. ' q', left)
  for _, member in ipairs(members) do
    local order, code, rid = string.match(member, '^r %S+ q (%S+) (%S+) %S+ (%S+)$')
    local request = read_request(record_of(conf, rid))
    local tried = conf.tried[rid]
    if tonumber(redis.call('ZSCORE', deadlines, rid)) <= conf.now then
      end_wait(conf, rid, request)
      left = left - 1
    elseif not tried or tried.left ~= left then
      tried = { left = left }
      tried.obstacle, tried.held = find_obstacle(conf, request, order)
      conf.tried[rid] = tried
      conf.looks = conf.looks - #request.parts
      if not tried.obstacle then
        hand_over(conf, rid, request)
        left = left - 1
      end
    end
    local stops = tried and tried.obstacle and (code ~= 's' or (tried.held and tried.obstacle == resource))
    if stops or conf.looks <= 0 then return left end
  end
  -- those behind who have not been looked at may follow
  if #members == most and (left < most or most < 64) then set_deadline(conf, 'promote ' .. resource, conf.now) end
  return left
end

-- promote_freed(conf): give their turn to those in line for what this call has freed; first end the waits of owners
-- that have lost what they rest on. What is too much for one call is left to the next.
-- NEEDS set_deadline waits_as live_request lacks_support end_request promote
local function promote_freed(conf)
  local left, at, seen = conf.grants or 64, 1, {}
  conf.tried, conf.looks = {}, conf.looks or 2500 -- at least 64 waiters with 32 locks each
  for owner in pairs(conf.waiting > 0 and conf.losers or {}) do
    local rid = waits_as(owner)
    local request = rid and live_request(conf, rid)
    if request and lacks_support(request) then
      end_request(conf, rid, request, 'lost', 'lock.cancelled', ' reason=lost')
    end
  end
  while conf.freed and conf.freed[at] and conf.waiting > 0 do  -- at most 100,000: resources that one call frees
    local resource = conf.freed[at]
    if left > 0 and conf.looks > 0 and seen[resource] ~= left then
      left = promote(conf, resource, left)
      seen[resource] = left
    end
    if left == 0 or conf.looks <= 0 then set_deadline(conf, 'promote ' .. resource, conf.now) end
    at = at + 1
  end
  conf.freed, conf.losers, conf.grants = nil, nil, left
end

-- end_rids(conf, rids): end requests whose deadline has come: all of them first, for none may be granted what another
-- leaves. Then the next in line have their turn.
-- NEEDS deadlines note_line record_of live_request end_wait end_request promote_freed
local function end_rids(conf, rids) local deadlines = KEYS[4]
  for _, rid in ipairs(rids) do
    local resource = string.match(rid, '^promote (.*)$')
    local request = not resource and live_request(conf, rid)
    if resource then
      redis.call('ZREM', deadlines, rid)
      note_line(conf, resource)
    elseif request and request.order ~= '-' then
      end_wait(conf, rid, request)
    elseif request then
      end_request(conf, rid, request, 'expired', 'lock.expired', '')
    elseif not record_of(conf, rid) then
      redis.call('ZREM', deadlines, rid) -- of something that is not there
    end
  end
  promote_freed(conf)
end

-- sweep_ended(conf, limit): forget how requests ended two minutes ago, and agents whose rate is not used, a hundred times
-- the limit at most; when that is to be done again.
-- NEEDS requests deadlines rates
local function sweep_ended(conf, limit) local requests, deadlines, rates = KEYS[2], KEYS[4], KEYS[7]
  local most = math.min(1000, 100 * limit)
  local rids = redis.call('ZRANGE', deadlines, '-inf', conf.now - 1e15, 'BYSCORE', 'LIMIT', 0, most)
  if #rids > 0 then
    -- at most 1,000: most
    redis.call('ZREM', deadlines, unpack(rids))
    redis.call('HDEL', requests, unpack(rids))
  end
  local idle = redis.call('ZRANGE', rates, '-inf', conf.now * 1000, 'BYSCORE', 'LIMIT', 0, most)
  if #idle > 0 then redis.call('ZREM', rates, unpack(idle)) end  -- at most 1,000: most
  if #rids == most or #idle == most then return conf.now end
  local oldest = redis.call('ZRANGE', deadlines, 0, 0, 'WITHSCORES')[2]
  if oldest and tonumber(oldest) < 0 then return math.max(oldest + 1e15, conf.now) + 1000 end
  return redis.call('EXISTS', rates) == 1 and conf.now + 60000 or MAX_SAFE
end

-- end_due(conf, limit): end up to so many of the requests whose deadline has come, and forget as many of those that
-- ended two minutes ago; how many were ended. conf.caught_up: there are no more. conf.due is when there is something
-- to do again; what can be forgotten may wait for a second, so that not every call has to see to it.
-- NEEDS deadlines end_rids sweep_ended
local function end_due(conf, limit) local deadlines = KEYS[4]
  conf.caught_up = conf.now < conf.due
  if conf.caught_up then return 0 end
  local rids = redis.call('ZRANGE', deadlines, 0, conf.now, 'BYSCORE', 'LIMIT', 0, limit)
  conf.caught_up = #rids < limit
  if rids[1] then end_rids(conf, rids) end
  local next_due = redis.call('ZRANGE', deadlines, 0, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2]
  conf.due = math.min(tonumber(next_due or MAX_SAFE), sweep_ended(conf, limit))
  conf.grants, conf.looks = nil, nil -- what the call itself frees is not to wait for the backlog
  return #rids
end

-- end_overdue(conf, rids): end those of some requests whose deadline has come, where end_due has not seen to all.
-- NEEDS deadlines end_rids
local function end_overdue(conf, rids) local deadlines = KEYS[4]
  if conf.caught_up or #rids == 0 then return end
  local due = {}
  for i, deadline_ms in ipairs(redis.call('ZMSCORE', deadlines, unpack(rids))) do  -- at most 1,000: items, or 256 of end_around
    local at = tonumber(deadline_ms or -1)
    if at >= 0 and at <= conf.now then due[#due + 1] = rids[i] end
  end
  if due[1] then end_rids(conf, due) end
end

-- catch_up(conf, rids): end what is overdue, some of it anywhere, and all of these.
-- NEEDS end_due end_overdue
local function catch_up(conf, rids)
  end_due(conf, 16)
  end_overdue(conf, rids)
end

-- new_request(conf, parts): a request for these locks that is neither granted nor in line.
-- NEEDS owner agent priority ttl_ms wait_ms born_ms purpose
local function new_request(conf, parts)
  return {
    state = 'held', owner = owner, agent = agent ~= '' and agent or owner, priority = priority, since_ms = conf.now,
    born_ms = born_ms > 0 and born_ms or conf.now, ttl_ms = ttl_ms > 0 and ttl_ms or conf.lease_ms,
    until_ms = conf.now + wait_ms, order = '-', granted_ms = 0, parts = parts, purpose = purpose,
  }
end

-- recall(conf, rid): what a request that is known is answered: the status, what goes with it, and, if it lives,
-- itself.
-- NEEDS deadlines record_of read_request
local function recall(conf, rid) local deadlines = KEYS[4]
  local text = record_of(conf, rid)
  local outcome, detail = string.match(text, '^ended (%S+) ?(.*)$')
  if outcome == 'busy' or outcome == 'deadlock' or outcome == 'unavailable' or outcome == 'owner_waits' then
    return outcome, detail ~= '' and detail or nil
  end
  if outcome then return 'ended', outcome end
  local request = read_request(text)
  request.deadline_ms = tonumber(redis.call('ZSCORE', deadlines, rid))
  return request.order == '-' and 'granted' or 'queued', nil, request
end

-- end_around(conf, parts): end what is overdue among the first to hold these resources or to wait for them; 256 are looked
-- at in a call.
-- NEEDS members_below end_overdue
local function end_around(conf, parts)
  local rids, spare = {}, conf.spare or 256
  for _, part in ipairs(conf.caught_up and {} or parts) do
    local members = members_below('r ' .. part.resource, math.min(spare, 64))
    for _, member in ipairs(members) do rids[#rids + 1] = string.match(member, '^.* (%S+)$') end
    spare = spare - #members
  end
  conf.spare = spare
  end_overdue(conf, rids)
end

-- cover_parts(conf, request): what its owner holds already, strongly enough, is granted under the highest fence it has
-- for it: the part gets that fence. A shared hold that is to become exclusive makes the request an upgrade. Whether
-- all are covered.
-- NEEDS graph record_of read_request
local function cover_parts(conf, request) local graph = KEYS[3]
  local covered = true
  for _, part in ipairs(request.parts) do
    local held = 'o ' .. request.owner .. ' h ' .. part.resource
    local members = redis.call('ZRANGE', graph, '(' .. held .. '!', '[' .. held .. ' ', 'BYLEX', 'REV', 'LIMIT', 0, 64)
    local code, fence = string.match(members[1] or '', '^.* (%S+) %S+$'), 0 -- the strongest stands last
    if code == 'x' and (part.code == 's' or part.code == 'x') or code == 's' and part.code == 's' then
      for _, member in ipairs(members) do
        for _, own in ipairs(read_request(record_of(conf, string.match(member, '^.* (%S+)$'))).parts) do
          if own.resource == part.resource then fence = math.max(fence, tonumber(own.fence)) end
        end
      end
      part.fence, part.leans = string.format('%.0f', fence), '+'
    else
      covered = false
      if code == 's' and part.code == 'x' then part.leans = '+' end
    end
  end
  return covered
end

-- unavailable(conf, request): why permits that a request wants will not be given out as things stand; nil if they may.
-- NEEDS permits_of read_capacity
local function unavailable(conf, request)
  for _, part in ipairs(request.parts) do
    local wanted = permits_of(part.code)
    if wanted then
      local room = read_capacity(conf, part.resource)
      if not room then return 'no_capacity' end
      if room.status == 'draining' then return 'draining' end
      if wanted > room.max then return 'too_many' end
    end
  end
end

-- refuse_rate(conf, agent): the ms after which an agent that asks too often may ask again; nil, and one more counted,
-- if it may now. GCRA: the score is the time (µs) at which all it asked for would have come at the allowed rate.
-- NEEDS rates
local function refuse_rate(conf, agent) local rates = KEYS[7]
  if not conf.rate_per_minute then return nil end
  local now, gap = conf.now * 1000, math.floor(60000000 / conf.rate_per_minute)
  local due = math.max(tonumber(redis.call('ZSCORE', rates, 'rate ' .. agent) or 0), now)
  local early = due - now - gap * (conf.rate_burst - 1)
  if early > 0 then return math.ceil(early / 1000) end
  redis.call('ZADD', rates, due + gap, 'rate ' .. agent)
  conf.due = math.min(conf.due, conf.now + 60000)
end

-- is_idle(request): whether nobody has any of the resources that a request wants, and nobody waits for one.
-- NEEDS members_below
local function is_idle(request)
  for _, part in ipairs(request.parts) do
    if members_below('r ' .. part.resource, 1)[1] then return false end
  end
  return true
end

-- scan_line(search, resource, order, code, by, counted): who waits behind that place in the line of a resource for
-- what stands there, or for somebody who does: whoever conflicts with it, and all behind. A holder's place is ''. Each
-- is noted once, with whom it waits for. From the place `search.from[resource]` on all are known already. counted:
-- permits play a part.
-- NEEDS graph permits_of
local function scan_line(search, resource, order, code, by, counted) local graph = KEYS[3]
  local line, from = 'r ' .. resource .. ' q ', search.from[resource]
  if search.left < 0 or from and from <= order then return end
  local members = redis.call('ZRANGE', graph, order == '' and '[' .. line or '(' .. line .. order .. '!',
    '(' .. line .. (from or '~'), 'BYLEX', 'LIMIT', 0, search.left + 1)
  search.left = search.left - #members
  local last = code ~= 's' and by or nil
  if last then search.from[resource] = order end
  counted = counted or permits_of(code)
  for _, member in ipairs(members) do
    local at, wanted, owner, rid = string.match(member, '^r %S+ q (%S+) (%S+) (%S+) (%S+)$')
    counted = counted or permits_of(wanted)
    if last or wanted ~= 's' then
      if not last then search.from[resource] = at end
      if not search.found[owner] then
        local node = { owner = owner, rid = rid, code = wanted, resource = resource, counted = counted,
          waits_for = wanted == 's' and last or by }
        search.found[owner] = node
        search.todo[#search.todo + 1] = node
      end
      if wanted ~= 's' then last = owner end
    end
  end
end

-- find_dependents(conf, request): who waits for the owner of a request, directly or through others, if it waits at its
-- place: a backward search over at most conf.visits entries (over it: `left` is negative). Of those, `hard` holds what
-- the request wants, and ends the search; `maybe` too, but permits play a part; `soft` stands ahead of it, and
-- foremost, `last` nearest.
-- NEEDS members_below permits_of scan_line
local function find_dependents(conf, request)
  local search = { owner = request.owner, left = conf.visits, from = {}, found = {}, todo = {}, wants = {} }
  for _, part in ipairs(request.parts) do
    if part.fence == '0' then
      search.wants[part.resource] = part.code
      scan_line(search, part.resource, request.order, part.code, request.owner, false)
    end
  end
  local node, at = { owner = request.owner, counted = false }, 0
  while node and search.left >= 0 and not search.hard do  -- at most 100,000: conf.visits
    local members = members_below('o ' .. node.owner, search.left + 1)
    search.left = search.left - #members
    for _, member in ipairs(members) do
      local resource, order, code = string.match(member, '^o %S+ w (%S+) (%S+) (%S+) %S+$')
      if not resource then
        order, resource, code = '', string.match(member, '^o %S+ h (%S+) (%S+) %S+$')
      end
      scan_line(search, resource, order, code, node.owner, node.counted)
      local wanted = search.wants[resource]
      local permits = wanted and (permits_of(code) or permits_of(wanted))
      local blocks = wanted and (wanted ~= 's' or code ~= 's')
      if at == 0 then blocks = permits end -- what it has itself may be all that it waits for
      local block = { owner = node.owner, resource = resource, order = order }
      if blocks and order == '' and (permits or node.counted) then
        search.maybe = block
      elseif blocks and order == '' then
        search.hard = block
      elseif blocks and order < request.order then
        if not search.soft or order < search.soft.order then search.soft = block end
        if not search.last or order > search.last.order then search.last = block end
      end
      if blocks and (permits or node.counted) then search.permits = true end
    end
    at = at + 1
    node = search.todo[at]
  end
  conf.visits = search.left
  return search
end

-- place_before(request, order): a place just before another's in all lines of a request: behind the last who
-- stands before that one. A later jump to the same place sorts before an earlier one.
-- NEEDS graph requests
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

-- load_waits(conf, request): all that a request waits for, directly or through others, for is_stuck: `lines` by
-- resource, each with its permits and with who holds it or waits for it; `waits` by owner. nil if that is more than
-- conf.visits entries.
-- NEEDS members_below read_capacity
local function load_waits(conf, request)
  local lines, waits, todo, left, at = {}, {}, {}, conf.visits, 1
  local function add_wait(owner, resource, order, code)
    local wait = { owner = owner, resource = resource, order = order, code = code }
    waits[owner] = waits[owner] or {}
    table.insert(waits[owner], wait)
    if not lines[resource] then
      local room = read_capacity(conf, resource)
      lines[resource] = { max = room and room.status == 'active' and room.max or 0 }
      todo[#todo + 1] = resource
    end
    return wait
  end
  for _, part in ipairs(request.parts) do
    if part.fence == '0' then
      local wait = add_wait(request.owner, part.resource, request.order, part.code)
      table.insert(lines[part.resource], wait)
    end
  end
  while todo[at] do  -- at most 100,000: conf.visits
    local line, members = lines[todo[at]], members_below('r ' .. todo[at], left + 1)
    at = at + 1
    left = left - #members
    if left < 0 then return nil end
    for _, member in ipairs(members) do
      local order, code, owner = string.match(member, '^r %S+ q (%S+) (%S+) (%S+) %S+$')
      if not order then
        order, code, owner = '', string.match(member, '^r %S+ h (%S+) (%S+) %S+$')
      end
      table.insert(line, { owner = owner, order = order, code = code })
      if not waits[owner] then
        waits[owner] = {}
        for _, wait in ipairs(members_below('o ' .. owner .. ' w', 32)) do
          add_wait(owner, string.match(wait, '^o %S+ w (%S+) (%S+) (%S+) %S+$'))
        end
      end
    end
  end
  return lines, waits
end

-- is_stuck(conf, request): whether a request at its place would wait for ever, permits considered: whoever can run is
-- let run and give back what it has, as long as there is somebody; what is left over is a deadlock. nil: too much to
-- tell.
-- NEEDS permits_of load_waits
local function is_stuck(conf, request)
  local lines, waits = load_waits(conf, request)
  if not lines then return nil end
  local steps = 40 * conf.visits
  local function stops(entry, wait)
    if entry.owner == wait.owner then return not permits_of(entry.code) ~= not permits_of(wait.code) end
    return (entry.order == '' or entry.order < wait.order) and (entry.code ~= 's' or wait.code ~= 's')
  end
  local function is_free(wait)
    local line, wanted = lines[wait.resource], permits_of(wait.code)
    if wanted and wanted > line.max then return true end -- not to be had: its next poll ends it
    local free = line.max
    for _, entry in ipairs(line) do
      steps = steps - 1
      if waits[entry.owner] then
        if wanted and entry.order == '' and permits_of(entry.code) then
          free = free - permits_of(entry.code)
        elseif stops(entry, wait) then
          return false
        end
      end
    end
    return not wanted or wanted <= free
  end
  local changed = true
  while changed and waits[request.owner] and steps > 0 do  -- at most 4,000,000: steps
    changed = false
    for owner, wanted in pairs(waits) do
      local runs = true
      for _, wait in ipairs(wanted) do runs = runs and is_free(wait) end
      if runs then waits[owner], changed = nil, true end
    end
  end
  if steps <= 0 then return nil end
  return waits[request.owner] ~= nil
end

-- find_place(conf, request, tail): a place in line for a request that has to wait, at which no circle of waits closes:
-- the one that its priority gives it, else the last one, else just ahead of the first who depends on it, and so on:
-- any other place has a circle if these have one. With permits not every circle is for ever, so there it moves by one
-- at a time. Nil, or the search that has found a circle wherever it stands. request.unchecked: the search was too
-- long.
-- NEEDS find_dependents place_before is_stuck
local function find_place(conf, request, tail)
  local moved = request.order == tail
  while conf.visits >= 0 do  -- at most 100,000: each search visits at least one
    local search = find_dependents(conf, request)
    if not search.hard then
      if search.left < 0 then break end
      if not search.maybe and not search.soft then return nil end
      local stuck = true
      if search.permits then stuck = is_stuck(conf, request) end
      if stuck == nil then break end
      if not stuck then return nil end
    end
    if not moved then
      request.order, moved = tail, true
    elseif search.hard or not search.soft then
      return search
    else
      request.order = place_before(request, (search.permits and search.last or search.soft).order)
    end
  end
  request.unchecked = true
end

-- circle_of(request, search): the circle that a search has found: `<owner>><code>><resource>` for each, who waits for
-- the resource in that mode, which the next has or is ahead for; and the waits of the others, in that order.
local function circle_of(request, search)
  local block = search.hard or search.maybe
  local words, nodes = { request.owner .. '>' .. search.wants[block.resource] .. '>' .. block.resource }, {}
  local node = search.found[block.owner]
  while node and #words < 64 do  -- at most 64: words
    words[#words + 1] = node.owner .. '>' .. node.code .. '>' .. node.resource
    nodes[#nodes + 1] = node
    node = search.found[node.waits_for]
  end
  return table.concat(words, ' '), nodes
end

-- choose_victim(conf, request, nodes): which of the waits of a circle is to end, by the policy; nil: that of the
-- request.
-- NEEDS record_of read_request
local function choose_victim(conf, request, nodes)
  if conf.policy == 'requester' then return nil end
  local victim, rank, born = nil, tonumber(request.priority), tonumber(request.born_ms)
  for _, node in ipairs(nodes) do
    local other = read_request(record_of(conf, node.rid))
    local its_rank, its_born = tonumber(other.priority), tonumber(other.born_ms)
    if conf.policy == 'youngest' then its_rank = rank end
    if its_rank > rank or (its_rank == rank and its_born > born) then victim, rank, born = node, its_rank, its_born end
  end
  return victim
end

-- end_deadlock(conf, rid, request, circle): end a wait that is part of a circle.
-- NEEDS end_request
local function end_deadlock(conf, rid, request, circle)
  end_request(conf, rid, request, 'deadlock ' .. circle, 'lock.deadlock', ' cycle=' .. circle)
end

-- break_circle(conf, request, search): end the wait that the policy names of those that make a circle. The circle as
-- text, and the rid that was ended; none where it is for the request itself to give way.
-- NEEDS record_of read_request circle_of choose_victim end_deadlock promote_freed
local function break_circle(conf, request, search)
  local circle, nodes = circle_of(request, search)
  local victim = choose_victim(conf, request, nodes)
  if not victim then return circle end
  local other = read_request(record_of(conf, victim.rid))
  end_deadlock(conf, victim.rid, other, circle)
  promote_freed(conf)
  return circle, victim.rid
end

-- join_line(conf, rid, request): let a request wait at its place.
-- NEEDS set_deadline unchecked link_request write_request tell
local function join_line(conf, rid, request) local unchecked = KEYS[5]
  request.state = 'waits'
  link_request(rid, request)
  write_request(conf, rid, request)
  set_deadline(conf, rid, math.min(request.until_ms, conf.now + conf.waiter_ms))
  conf.waiting = conf.waiting + 1
  if request.unchecked then redis.call('ZADD', unchecked, conf.now, rid) end
  tell(conf, 'lock.queued', rid, request, '')
end

-- admit(conf, rid, request): grant a new request, or let it wait, or refuse it: the status, and what goes with it.
-- NEEDS requests read_rules end_around cover_parts unavailable refuse_rate find_obstacle grant tell waits_as is_idle find_place
-- NEEDS circle_of break_circle join_line remember
local function admit(conf, rid, request) local requests = KEYS[2]
  read_rules(conf)
  end_around(conf, request.parts)
  local covered = cover_parts(conf, request)
  local refusal = unavailable(conf, request)
  if refusal then
    remember(conf, rid, 'unavailable ' .. refusal)
    return 'unavailable', refusal
  end
  local retry_ms = not covered and refuse_rate(conf, request.agent)
  if retry_ms then return 'rate_limited', retry_ms end
  local seq = redis.call('HINCRBY', requests, '#seq', 1)
  local head_start = request.priority * conf.step_ms
  local tail = string.format('%014.0f%012.0f', conf.now + 9 * conf.step_ms, seq)
  local upgrade = request.parts[1].leans ~= '' and not request.parts[2]
  local own = upgrade and string.format('%026.0f', seq)
    or string.format('%014.0f%012.0f', conf.now + head_start, seq)
  local other = not covered and waits_as(request.owner)
  if other and (not is_idle(request) or find_obstacle(conf, request, own)) then
    remember(conf, rid, 'owner_waits ' .. other)
    return 'owner_waits', other
  end
  local circle, victim
  for round = 1, 5 do
    request.order = own -- where a victim has gone, it may stand where it belongs
    local waits = find_obstacle(conf, request, own)
    if waits and request.until_ms == conf.now then
      remember(conf, rid, 'busy')
      return 'busy'
    end
    local search = waits and find_place(conf, request, tail)
    if not search and request.order ~= own then waits = find_obstacle(conf, request, request.order) end
    if not waits then
      grant(conf, rid, request, 'held', conf.now + request.ttl_ms)
      tell(conf, 'lock.acquired', rid, request, '')
      return 'granted'
    elseif not search then
      join_line(conf, rid, request)
      return 'queued'
    elseif round == 5 then
      circle = circle_of(request, search)
    else
      circle, victim = break_circle(conf, request, search)
      if not victim then break end
    end
  end
  tell(conf, 'lock.deadlock', rid, request, ' cycle=' .. circle)
  remember(conf, rid, 'deadlock ' .. circle)
  return 'deadlock', circle
end

-- decide(conf, rid, parts): what a request for these locks is answered, be it new or known: the status, what goes with
-- it, and the request itself if it lives.
-- NEEDS issued_ms catch_up new_request record_of recall admit
local function decide(conf, rid, parts)
  catch_up(conf, { rid })
  if record_of(conf, rid) then return recall(conf, rid) end
  if math.abs(conf.now - issued_ms) > 60000 then return 'request_expired' end
  local request = new_request(conf, parts)
  local status, detail = admit(conf, rid, request)
  return status, detail, request
end

-- create_base(): note of a new queue or domain which layout its data has, and that it uses the server's clock.
-- NEEDS config
local function create_base() local config = KEYS[1]
  redis.call('HSET', config, 'layout', CREATED, 'layout_min', CREATED, 'clock', 'server')
end

-- close_domain(conf): store the time, the counters and what was written of requests, for the next call to go on from,
-- and publish what this call has told.
-- NEEDS requests channel create_base
local function close_domain(conf) local requests, channel = KEYS[2], KEYS[9]
  local changes = { '#now', conf.now_text, '#offset', conf.offset, '#fence', string.format('%.0f', conf.fence),
    '#waiting', conf.waiting, '#due', conf.due }
  for rid in pairs(conf.changed or {}) do
    changes[#changes + 1] = rid
    changes[#changes + 1] = conf.texts[rid]
  end
  for first = 1, #changes, 7000 do
    redis.call('HSET', requests, unpack(changes, first, math.min(first + 6999, #changes)))
  end
  if not conf.exists then create_base() end
  for resource, words in pairs(conf.hints or {}) do redis.pcall('SPUBLISH', channel .. resource, words) end
end

-- place_of(request): the place in line of a waiter, from 1; the last one where it stands in several lines.
-- NEEDS graph
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

-- wait_answer(conf, rid, request): what a waiter is told besides: its place, how often to ask, whether all circles
-- were looked for.
-- NEEDS unchecked read_rules place_of
local function wait_answer(conf, rid, request) local unchecked = KEYS[5]
  read_rules(conf)
  return place_of(request), conf.poll_ms, redis.call('ZSCORE', unchecked, rid) and 0 or 1
end

local parts = { { code = code_of(mode, permits), fence = '0', leans = '', resource = resource } }
local status, detail, request = decide(conf, rid, parts)
close_domain(conf)
if status == 'granted' then return { status, conf.now, tonumber(request.parts[1].fence), request.deadline_ms } end
if status == 'queued' then return { status, conf.now, wait_answer(conf, rid, request) } end
return { status, conf.now, detail }
