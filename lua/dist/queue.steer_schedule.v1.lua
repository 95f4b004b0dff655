#!lua flags=allow-oom
-- generated from lua/queue/steer_schedule.v1.lua by lua/bundle.py; do not edit
-- queue.steer_schedule.v1: pause, resume or remove a schedule; its tasks stay. A paused schedule misses its times
-- without a count. A pause is a new revision. To resume, the caller sends the revision from which it computed, and the
-- first time from now on; another revision returns `stale`. To pause or remove, `rev` 0 is any. If the same call is sent again, it changes nothing and
-- returns the same answer.
--
-- DATA   config    hash          {base}:config
-- DATA   task      prefix/hash   {base}:task:     id
-- DATA   wake      prefix/list   {base}:wake:     lane
-- DATA   finished  zset          {base}:finished
-- DATA   dead      zset          {base}:dead
-- DATA   once      hash          {base}:once
-- DATA   once_due  zset          {base}:once:due
-- DATA   schedules zset          {base}:schedules
-- DATA   schedule  prefix/hash   {base}:schedule: name
-- DATA   runs      prefix/string {base}:runs:     name
-- DATA   events    stream        {base}:events
-- ARGV   name      name
-- ARGV   rid       id
-- ARGV   verb      enum pause|resume|remove
-- ARGV   rev       int 0..       ?=0
-- ARGV   next_ms   int 0..       ?=0
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- RETURN done      now_ms:int
-- RETURN unchanged now_ms:int
-- RETURN stale     now_ms:int
-- RETURN not_found now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  schedule.paused schedule.resumed schedule.removed
-- ROLE   operate
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   12 commands, up to 3 more if it is due within 10 s, O(log m); at most 4 commands, 82 steps

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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{queue:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:queue:[%w._@+-]+):config$') or string.match(KEYS[1], '^([%w._@+-]+:{queue:[%w._@+-]+/[%w._@+-]+}):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{queue:<name>}:config, <prefix>:{<slot>}:queue:<name>:config, <prefix>:{queue:<name>/<tag>}:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. '!operate' then return refuse('key gate', KEYS[2], arg_base .. '!operate') end
  KEYS = { arg_base .. ':config', arg_base .. ':task:', arg_base .. ':wake:', arg_base .. ':finished', arg_base .. ':dead', arg_base .. ':once', arg_base .. ':once:due', arg_base .. ':schedules', arg_base .. ':schedule:', arg_base .. ':runs:', arg_base .. ':events' }
end

local name = ARGV[1]
if not name or #name > 100 or not arg_find(name, '^[%w._@+-]+$') then
  return refuse('name', name, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
end
local rid = ARGV[2]
if not rid or #rid > 200 or not arg_find(rid, '^[%w._:/@+-]+$') then
  return refuse('rid', rid, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local verb = ARGV[3]
if verb ~= 'pause' and verb ~= 'resume' and verb ~= 'remove' then
  return refuse('verb', verb, 'one of pause, resume, remove')
end
local rev = ARGV[4]
if rev == '' then
  rev = 0
else
  rev = arg_uint(rev, 0, 9007199254740991)
  if not rev then return refuse('rev', ARGV[4], 'an integer from 0 to 9007199254740991') end
end
local next_ms = ARGV[5]
if next_ms == '' then
  next_ms = 0
else
  next_ms = arg_uint(next_ms, 0, 9007199254740991)
  if not next_ms then return refuse('next_ms', ARGV[5], 'an integer from 0 to 9007199254740991') end
end
local trace = ARGV[6]
if not trace or #trace > 128 then
  return refuse('trace', trace and #trace, '0 to 128 bytes long')
end
local source = ARGV[7]
if not source or #source > 200 then
  return refuse('source', source and #source, '0 to 200 bytes long')
end
local now_ms = ARGV[8]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9007199254740991)
  if not now_ms then return refuse('now_ms', ARGV[8], 'an integer from 0 to 9007199254740991') end
end
if #ARGV ~= 8 then
  return redis.error_reply('ADEQ_ARG expected 8 arguments, got ' .. #ARGV)
end

local arg_rare

-- done_before(ctx, verb): the answer that an earlier call with this verb and rid stored in the last minute, or nil.
local function done_before(ctx, verb) local once = KEYS[6]
  if rid == '' then return nil end
  local word, until_ms = string.match(redis.call('HGET', once, 'done:' .. verb .. ':' .. rid) or '', '^(%S+) (%d+)$')
  if word and tonumber(until_ms) > ctx.now then return word end
end

-- emit(ctx, event, id, detail): add an entry to the stream, if the noun keeps events. detail: `name=value` words, or
-- ''. The trace is ctx.trace, that of the task, or else that of the call.
local function emit(ctx, event, id, detail) local events = KEYS[11]
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

-- hold_once(ctx, field, id, keep_ms, stamp): make a key of `once` refer to a task, for keep_ms or, without keep_ms,
-- until it is released. stamp: that of the enqueue that made the task, if its record does not know the key; the key no
-- longer counts once that was purged.
local function hold_once(ctx, field, id, keep_ms, stamp) local once, once_due = KEYS[6], KEYS[7]
  if not keep_ms then
    redis.call('HSET', once, field, id)
    return
  end
  local until_text = string.format('%.0f', ctx.now + keep_ms)
  redis.call('HSET', once, field, id .. ' ' .. until_text .. (stamp and ' ' .. stamp or ''))
  redis.call('ZADD', once_due, until_text, field)
  ctx.held = (ctx.held or 0) + 1
end

-- sweep_once(ctx, limit): delete expired fields of `once`, at most limit. Returns the number.
local function sweep_once(ctx, limit) local once, once_due = KEYS[6], KEYS[7]
  local fields = redis.call('ZRANGE', once_due, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, limit)
  if #fields == 0 then return 0 end
  -- at most 4,010: limit, as add_tasks gives it for 1,000 items
  redis.call('ZREM', once_due, unpack(fields))
  redis.call('HDEL', once, unpack(fields))
  return #fields
end

-- note_done(ctx, verb, word): leave a word for this call, in case it is sent again: a late copy must not undo what came
-- after it.
local function note_done(ctx, verb, word)
  if rid == '' then return end
  hold_once(ctx, 'done:' .. verb .. ':' .. rid, word, 60000)
  sweep_once(ctx, 10)
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'events_max')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_events_max = tonumber(row[3] or 100000) }
end

-- push_due(lane): push a wake-up token for a due time within the next 10 s (the longest block), because blocked workers
-- do not know this time. The worker that takes the token claims, sees next_ms, and blocks until then. Also pushed while
-- the queue is paused. It expires after 60 s, but a token for ready tasks does not.
local function push_due(lane) local wake = KEYS[3]
  if redis.call('EXISTS', wake .. lane) == 0 then
    redis.call('LPUSH', wake .. lane, '1')
    redis.call('PEXPIRE', wake .. lane, 60000)
  else
    redis.call('PEXPIRE', wake .. lane, 60000, 'XX')
  end
end

-- plan_firing(ctx, next_ms): note when this schedule is due next; 0: never by itself. Blocked workers are woken to
-- learn of it.
-- LATE
local function plan_firing(ctx, next_ms) local schedules, schedule = KEYS[8], KEYS[9]
  local due_ms = next_ms > 0 and next_ms or MAX_SAFE
  redis.call('ZADD', schedules, string.format('%.0f', due_ms), name)
  redis.call('HSET', schedule .. name, 'next_ms', string.format('%.0f', next_ms))
  if due_ms - ctx.now < 10000 then push_due('any') end
end

local arg_made
function arg_rare()
  if arg_made then return arg_made end

-- read_open(ids): the ids among these (separated by spaces) whose tasks have not ended. A task of somebody else that has got the id of one
-- which is gone does not count.
local function read_open(ids) local task, finished, dead = KEYS[2], KEYS[4], KEYS[5]
  local open = {}
  for id in string.gmatch(ids, '%S+') do
    local there = redis.call('HMGET', task .. id, 'created_ms', 'schedule')
    if there[1] and there[2] == name and not redis.call('ZSCORE', finished, id) and not redis.call('ZSCORE', dead, id) then open[#open + 1] = id end
  end
  return open
end

  arg_made = { read_open = read_open }
  return arg_made
end

local config, schedules, schedule, runs = KEYS[1], KEYS[8], KEYS[9], KEYS[10]

local ctx, refused = open()
if refused then return refused end
local key = schedule .. name
local before = done_before(ctx, 'steer_schedule')
if before then return { before, ctx.now } end
local row = redis.call('HMGET', key, 'rev', 'paused', 'open')
if not row[1] then
  redis.call('ZREM', schedules, name)  -- an evicting server may have taken the rest
  if ctx.exists then note_done(ctx, 'steer_schedule', 'not_found') end
  return { 'not_found', ctx.now }
end
if (verb == 'resume' or rev > 0) and tonumber(row[1]) ~= rev then return { 'stale', ctx.now } end

local status = 'done'
if verb == 'remove' then
  local open = arg_rare().read_open(row[3] or '')
  if open[1] then  -- another schedule of that name is to know of these runs
    redis.call('SET', runs .. name, table.concat(open, ' '), 'PX', 604800000)
  end
  redis.call('DEL', key)
  redis.call('ZREM', schedules, name)
  emit(ctx, 'schedule.removed', name, '')
elseif (verb == 'pause') == (row[2] == '1') then
  status = 'unchanged'
elseif verb == 'pause' then
  plan_firing(ctx, 0)
  redis.call('HSET', key, 'paused', '1', 'rev', redis.call('HINCRBY', config, 'revisions', 1))
  emit(ctx, 'schedule.paused', name, '')
else
  plan_firing(ctx, next_ms)
  redis.call('HDEL', key, 'paused')
  emit(ctx, 'schedule.resumed', name, 'next_ms=' .. string.format('%.0f', next_ms))
end
note_done(ctx, 'steer_schedule', status)
return { status, ctx.now }
