#!lua flags=allow-oom
-- generated from lua/queue/promote.v1.lua by lua/bundle.py; do not edit
-- queue.promote.v1: make delayed tasks ready whose time has come. Claims also do this; the call is for queues without
-- claims. Repeating it leaves the same state, but returns another count. 0 means that no more are due.
--
-- DATA   config     hash          {base}:config
-- DATA   task       prefix/hash   {base}:task:       id
-- DATA   payload    prefix/string {base}:payload:    id
-- DATA   log        prefix/list   {base}:log:        id
-- DATA   ended_runs prefix/list   {base}:ended_runs: id
-- DATA   steps      prefix/hash   {base}:steps:      id
-- DATA   ready      prefix/zset   {base}:ready:      lane
-- DATA   lanes      set           {base}:lanes
-- DATA   wake       prefix/list   {base}:wake:       lane
-- DATA   delayed    zset          {base}:delayed
-- DATA   dependents prefix/zset   {base}:dependents: id
-- DATA   ends       zset          {base}:ends
-- DATA   weights    hash          {base}:weights
-- DATA   shares     prefix/zset   {base}:shares:     lane
-- DATA   counters   hash          {base}:counters
-- DATA   events     stream        {base}:events
-- ARGV   limit     int 1..1000   ?=100
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int promoted:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.promoted task.alert
-- ROLE   work
-- REPLAY state
-- FLAGS  allow-oom
-- COST   11 + 2n commands, 1 more with fair shares and 2 for each user, 1 for each of up to 1,000 that are due at the same time after crashes, O(n log m); at most 8,400 commands, 73,000 steps

local BAND = 281474976710656
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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{queue:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:queue:[%w._@+-]+):config$') or string.match(KEYS[1], '^([%w._@+-]+:{queue:[%w._@+-]+/[%w._@+-]+}):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{queue:<name>}:config, <prefix>:{<slot>}:queue:<name>:config, <prefix>:{queue:<name>/<tag>}:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. '!work' then return refuse('key gate', KEYS[2], arg_base .. '!work') end
  KEYS = { arg_base .. ':config', arg_base .. ':task:', arg_base .. ':payload:', arg_base .. ':log:', arg_base .. ':ended_runs:', arg_base .. ':steps:', arg_base .. ':ready:', arg_base .. ':lanes', arg_base .. ':wake:', arg_base .. ':delayed', arg_base .. ':dependents:', arg_base .. ':ends', arg_base .. ':weights', arg_base .. ':shares:', arg_base .. ':counters', arg_base .. ':events' }
end

local limit = ARGV[1]
if limit == '' then
  limit = 100
else
  limit = arg_uint(limit, 1, 1000)
  if not limit then return refuse('limit', ARGV[1], 'an integer from 1 to 1000') end
end
local trace = ARGV[2]
if not trace or #trace > 128 then
  return refuse('trace', trace and #trace, '0 to 128 bytes long')
end
local source = ARGV[3]
if not source or #source > 200 then
  return refuse('source', source and #source, '0 to 200 bytes long')
end
local now_ms = ARGV[4]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9007199254740991)
  if not now_ms then return refuse('now_ms', ARGV[4], 'an integer from 0 to 9007199254740991') end
end
if #ARGV ~= 4 then
  return redis.error_reply('ADEQ_ARG expected 4 arguments, got ' .. #ARGV)
end

local arg_rare

-- add_count(ctx, name, n): count in this call; write_counts stores it.
local function add_count(ctx, name, n)
  ctx.counts[name] = (ctx.counts[name] or 0) + n
end

-- emit(ctx, event, id, detail): add an entry to the stream, if the noun keeps events. detail: `name=value` words, or
-- ''. The trace is ctx.trace, that of the task, or else that of the call.
local function emit(ctx, event, id, detail) local events = KEYS[16]
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

-- line_up(by_lane, lane, score, id): note a task for make_ready.
-- EARLY
local function line_up(by_lane, lane, score, id)
  local members = by_lane[lane]
  if not members then
    members = {}
    by_lane[lane] = members
  end
  members[#members + 1] = score
  members[#members + 1] = id
end

-- push_wake(ctx, lane, was_empty): push a wake-up token for a blocked worker, unless the queue is paused. One is enough: it
-- is a hint, not a task.
-- was_empty: the lane may have been empty. Then its token may be for a due time, and must not expire any more.
local function push_wake(ctx, lane, was_empty) local wake = KEYS[9]
  if (ctx.mode or ctx.settings_mode) == 'paused' then return was_empty and redis.call('PERSIST', wake .. lane) end
  if redis.call('EXISTS', wake .. lane) == 0 then redis.call('LPUSH', wake .. lane, '1') elseif was_empty then redis.call('PERSIST', wake .. lane) end
end

-- make_ready(ctx, by_lane): put tasks into their lanes and wake a worker for each lane. by_lane[lane] = { score, id,
-- score, id, … } (line_up). The shares of a lane with waiting tasks do not expire.
local function make_ready(ctx, by_lane) local ready, lanes, shares = KEYS[7], KEYS[8], KEYS[14]
  local names, begun = {}, 0
  for lane, members in pairs(by_lane) do
    names[#names + 1] = lane
    for first = 1, #members, 7000 do
      redis.call('ZADD', ready .. lane, unpack(members, first, math.min(first + 6999, #members)))
    end
    if ctx.settings_fair > 0 then redis.call('PERSIST', shares .. lane) end
  end
  for first = 1, #names, 7000 do
    begun = begun + redis.call('SADD', lanes, unpack(names, first, math.min(first + 6999, #names)))
  end
  for _, lane in ipairs(names) do push_wake(ctx, lane, begun > 0) end
end

-- read_clock(layout_min, clock, chosen): the time in ms, as a number and as text; or nil and the error to return, if
-- the layout of these scripts or the clock of the call does not fit the stored data. chosen: the clock of a base that
-- this call may create.
local function read_clock(layout_min, clock, chosen)
  if tonumber(layout_min or 2) > 2 then
    return nil, redis.error_reply('ADEQ_LAYOUT this data needs scripts of layout ' .. layout_min
      .. ' or newer, these are of layout ' .. 2 .. ': upgrade this client')
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'events_max', 'fair', 'mode', 'chains', 'fair_top')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_events_max = tonumber(row[3] or 100000), settings_fair = tonumber(row[4] or 0), settings_mode = row[5], settings_chains = row[6] == '1', settings_fair_top = tonumber(row[7] or 0), counts = {}, work = 300 }
end

-- promote_due(ctx, limit): put delayed tasks that are due at the end of their lanes, the earliest first, as many as ctx.work
-- allows. Tasks that crashed again and are due at the same time keep the order that they had before, not that of ids.
local function promote_due(ctx, limit) local config, task, delayed = KEYS[1], KEYS[2], KEYS[10]
  limit = math.min(limit, math.ceil(ctx.work / (ctx.settings_fair > 0 and 3 or 2)))
  local page = redis.call('ZRANGE', delayed, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, limit + 1, 'WITHSCORES')
  if #page == 0 then return 0 end
  local ids, tied, last = {}, false, math.min(limit, #page / 2)
  ctx.work = ctx.work - (ctx.settings_fair > 0 and 3 or 2) * last
  for i = 1, last do
    ids[i] = page[2 * i - 1]
    tied = tied or page[2 * i] == page[2 * i + 2]
  end
  if tied then ids = arg_rare().first_due(page, last) or ids end
  local place = redis.call('HINCRBY', config, 'place', #ids) - #ids
  local by_lane, promoted = {}, {}
  redis.call('ZREM', delayed, unpack(ids))  -- at most 1,000: limit
  for i, id in ipairs(ids) do
    local own = redis.call('HMGET', task .. id, 'created_ms', 'lane', 'priority', 'user')
    if not own[1] then
      arg_rare().drop_task(ctx, id)
    else
      arg_rare().line_up_last(ctx, by_lane, id, place + i, own[2], own[3], own[4])
      promoted[#promoted + 1] = id
    end
  end
  if #promoted == 0 then return 0 end
  make_ready(ctx, by_lane)
  emit(ctx, 'task.promoted', table.concat(promoted, ' '), '')
  add_count(ctx, 'promoted', #promoted)
  return #promoted
end

-- write_counts(ctx): add what this call has counted to the totals, once a call and not once a task. A number is added to its counter,
-- a table of buckets to one counter for each bucket, and the sum of its values to another.
local function write_counts(ctx) local counters = KEYS[15]
  for name, counted in pairs(ctx.counts) do
    if type(counted) == 'number' then
      redis.call('HINCRBY', counters, name, counted)
    else
      for bound, n in pairs(counted) do
        -- HMGET and HSET for all counters of the call would take 5 % more instructions: each name is searched in the hash.
        redis.call('HINCRBY', counters, bound == 'sum' and name .. '_sum' or name .. ':' .. bound, n)
      end
    end
  end
end

local arg_made
function arg_rare()
  if arg_made then return arg_made end

-- keep_note(ctx, note, parent_only): keep a note for the end of this call. parent_only: no task waits for its task but
-- the parent.
local function keep_note(ctx, note, parent_only)
  ctx.notes = ctx.notes or {}
  if ctx.notes[note] == nil then ctx.notes[#ctx.notes + 1], ctx.notes[note] = note, parent_only or false end
end

-- note_end(ctx, how, id, parent, stamp, parent_only): note what propagate_ends has to do for a task. `c`, `f`: report
-- that it completed or failed to its gathering parent, '<id> <its place>', and to the tasks that wait for it by now.
-- Later tasks wait for another task with that id. `o`: report it to the next task of its ordering key, in place of a
-- parent. `t`: cancel its children, under a stamp. The caller ends with on_close or store_notes.
local function note_end(ctx, how, id, parent, stamp, parent_only) local config = KEYS[1]
  ctx.last_place = ctx.last_place or redis.call('HGET', config, 'place') or 0
  keep_note(ctx, how .. ' ' .. id .. ' ' .. (parent or '- 0') .. ' ' .. (stamp or ctx.last_place), parent_only)
end

-- chains_on_drop(ctx, id): tell the tasks that wait for this one that it has failed.
-- WHEN ctx.settings_chains
local function chains_on_drop(ctx, id) local dependents = KEYS[11]
  if redis.call('EXISTS', dependents .. id) == 1 then note_end(ctx, 'f', id) end
end

-- on_drop(ctx, id): generated from lua/queue/noun.toml: calls the hooks of chains.
local function on_drop(ctx, id)
  if ctx.settings_chains then chains_on_drop(ctx, id) end
end

-- drop_task(ctx, id): delete the other keys of a task whose record was evicted, and write an alert event.
local function drop_task(ctx, id) local task, payload, log, ended_runs, steps = KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
  on_drop(ctx, id)
  redis.call('DEL', task .. id, payload .. id, log .. id, ended_runs .. id, steps .. id)
  emit(ctx, 'task.alert', id, 'reason=record_missing')
end

-- first_due(page, limit): choose which of the tasks that are due at the same time are promoted, at most limit, if some
-- of them crashed again: those keep the order that they had when they were leased, behind the others. Looks at 1,000.
-- nil if none crashed again.
local function first_due(page, limit) local config, task, delayed = KEYS[1], KEYS[2], KEYS[10]
  local last = page[2 * limit]
  if tonumber(redis.call('HGET', config, 'crashed_due_ms') or 0) < tonumber(page[2]) then return nil end
  if page[2 * limit + 2] == last then page = redis.call('ZRANGE', delayed, '-inf', last, 'BYSCORE', 'LIMIT', 0, 1000, 'WITHSCORES') end
  local ids, due, place, first = {}, {}, {}, {}
  for i = 1, #page, 2 do
    local id = page[i]
    local at_ms, score = string.match(redis.call('HGET', task .. id, 'stood') or '', '^(%d+) (%d+)$')
    ids[#ids + 1], due[id] = id, tonumber(page[i + 1])
    place[id] = at_ms == page[i + 1] and tonumber(score) or 0
  end
  table.sort(ids, function(a, b)
    if due[a] ~= due[b] then return due[a] < due[b] end
    if place[a] ~= place[b] then return place[a] < place[b] end
    return a < b
  end)
  for i = 1, limit do first[i] = ids[i] end
  return first
end

-- share_place(ctx, lane, user, band): the place of a user's next task with fair shares: the place claimed last in this
-- lane and band, or the end of the user's previous task if that is later. A task of a user with weight 100 % lasts
-- 1,000. config.fair_top is kept above all places, for the case that fair shares are switched off.
local function share_place(ctx, lane, user, band) local config, weights, shares = KEYS[1], KEYS[13], KEYS[14]
  local name = lane .. ' ' .. band .. user
  ctx.shares = ctx.shares or {}
  local own = ctx.shares[name]
  if not own then
    local row = redis.call('ZMSCORE', shares .. lane, band .. ' claimed', band .. user)
    local weight_pct = user ~= '' and redis.call('HGET', weights, user) or 100
    local from = math.max(ctx.settings_fair, row[1] and row[1] % BAND or 0)
    own = { place = math.max(from, row[2] and row[2] % BAND or 0), lasts = math.ceil(100000 / weight_pct) }
    ctx.shares[name] = own
  end
  local place = own.place
  own.place = place + own.lasts
  redis.call('ZADD', shares .. lane, string.format('%.0f', band * BAND + own.place), band .. user)
  if own.place > (ctx.fair_top or ctx.settings_fair_top) then
    ctx.fair_top = own.place + 1000000
    redis.call('HSET', config, 'fair_top', string.format('%.0f', ctx.fair_top))
  end
  return place
end

-- line_up_last(ctx, by_lane, id, place, lane, priority, user): note a task for make_ready, behind all others of its lane and
-- priority, and of its user with fair shares. place: a new place, for queues without fair shares.
local function line_up_last(ctx, by_lane, id, place, lane, priority, user) local task = KEYS[2]
  lane = lane or 'any'
  local band = tonumber(priority or 5)
  if ctx.settings_fair > 0 then place = share_place(ctx, lane, user or '', band) end
  redis.call('HSET', task .. id, 'ready_ms', ctx.now_text)
  line_up(by_lane, lane, band * BAND + place, id)
end

-- store_notes(ctx): store the notes of this call that were not carried out. A later call goes on.
local function store_notes(ctx) local ends = KEYS[12]
  local rows = {}
  for i, note in ipairs(ctx.notes or {}) do rows[2 * i - 1], rows[2 * i] = ctx.now_text, note end
  for first = 1, #rows, 7000 do redis.call('ZADD', ends, unpack(rows, first, math.min(first + 6999, #rows))) end
  ctx.notes = nil
end

  arg_made = { drop_task = drop_task, first_due = first_due, line_up_last = line_up_last, store_notes = store_notes }
  return arg_made
end

local ctx, refused = open()
if refused then return refused end

ctx.work = 15 * limit
local promoted = promote_due(ctx, limit)
if ctx.notes then arg_rare().store_notes(ctx) end
write_counts(ctx)
return { 'ok', ctx.now, promoted }
