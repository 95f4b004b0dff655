#!lua flags=allow-oom
-- generated from lua/queue/heartbeat.v1.lua by lua/bundle.py; do not edit
-- queue.heartbeat.v1: renew leases, and return which tasks are to be cancelled and which leases are lost. Past its
-- deadline, a lease is lost here, even if no call has taken it back yet. So is a lease whose task has run longer than
-- its timeout (or the queue's) plus a grace time. If the call is sent again, it renews again. A worker that sends its
-- name also gets the requests to it: to run, be quiet, stop or restart; and how many tasks to run at a time, 0 for no
-- request.
--
-- DATA   config      hash        {base}:config
-- DATA   running     hash        {base}:running
-- DATA   leases      zset        {base}:leases
-- DATA   task        prefix/hash {base}:task:   id
-- DATA   workers     zset        {base}:workers
-- DATA   worker_hash prefix/hash {base}:worker: id
-- ARGV   worker    id            ?=
-- ARGV   busy      int -1..100000 ?=-1
-- ARGV   lease_ms  int 0..86400000 ?=0
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- ITEM   token     id
-- GROUP  item      0..1000
-- RETURN ok        now_ms:int mode:text wanted:int items:list(item)
-- EACH   item      renewed deadline_ms:int
-- EACH   item      cancelling deadline_ms:int
-- EACH   item      timed_out deadline_ms:int
-- EACH   item      lease_lost
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   work
-- REPLAY idempotent
-- FLAGS  allow-oom
-- COST   9 commands, 1 more for each task with ties, O(n log m); at most 1,200 commands, 30,000 steps

local unpack = table.unpack or unpack
local arg_find = string.find
local arg_empty = {}
local function refuse(field, value, want)
  local got = 'nothing'
  if type(value) == 'number' then
    got = string.format('%.0f', value)
  elseif value then
    got = "'" .. string.gsub(string.sub(value, 1, 64), '[^ -~]', '?') .. "'"
  end
  return redis.error_reply('ADEQ_ARG ' .. field .. ' must be ' .. want .. ', got ' .. got)
end
local function arg_int(v, min, max)
  if not v or #v > 17 or (v ~= '0' and not arg_find(v, '^%-?[1-9]%d*$')) then return nil end
  local n = v + 0
  if n >= min and n <= max and (n < 0 or #v <= 16) then return n end
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
  KEYS = { arg_base .. ':config', arg_base .. ':running', arg_base .. ':leases', arg_base .. ':task:', arg_base .. ':workers', arg_base .. ':worker:' }
end

local worker = ARGV[1]
if worker ~= '' and (not worker or #worker > 200 or not arg_find(worker, '^[%w._:/@+-]+$')) then
  return refuse('worker', worker, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local busy = ARGV[2]
if busy == '' then
  busy = -1
else
  busy = arg_int(busy, -1, 100000)
  if not busy then return refuse('busy', ARGV[2], 'an integer from -1 to 100000') end
end
local lease_ms = ARGV[3]
if lease_ms == '' then
  lease_ms = 0
else
  lease_ms = arg_uint(lease_ms, 0, 86400000)
  if not lease_ms then return refuse('lease_ms', ARGV[3], 'an integer from 0 to 86400000') end
end
local now_ms = ARGV[4]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9007199254740991)
  if not now_ms then return refuse('now_ms', ARGV[4], 'an integer from 0 to 9007199254740991') end
end
local arg_at = 5
local item_count = ARGV[arg_at]
item_count = arg_uint(item_count, 0, 1000)
if not item_count then return refuse('item_count', ARGV[arg_at], 'an integer from 0 to 1000') end
arg_at = arg_at + 1
local item_id, item_token = arg_empty, arg_empty
if item_count > 0 then item_id, item_token = {}, {} end
for i = 1, item_count do
  local v = ARGV[arg_at]
  if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
    return refuse('item[' .. i .. '].id', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
  end
  item_id[i] = v
  v = ARGV[arg_at + 1]
  if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
    return refuse('item[' .. i .. '].token', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
  end
  item_token[i] = v
  arg_at = arg_at + 2
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end

local arg_rare

-- flags_of(value, token): the flags and `ran` of an entry of `running` (see read_lease) if its lease has this token;
-- otherwise nil. It costs a third of read_lease.
local function flags_of(value, token)
  if not value or string.find(value, token, 1, true) ~= 1 or string.byte(value, #token + 1) ~= 32 then return nil end
  local bar = string.find(value, '|', #token, true)
  return string.sub(value, #token + 1, bar), string.sub(value, bar + 1)
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'lease_ms', 'timeout_ms')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_lease_ms = tonumber(row[3] or 15000), settings_timeout_ms = tonumber(row[4] or 0) }
end

-- renew_presence(ctx): note a sign of life of a known worker. Returns what is wanted of it, and the wanted number of
-- tasks at a time (0: not set).
local function renew_presence(ctx) local workers, worker_hash = KEYS[5], KEYS[6]
  local own = redis.call('HMGET', worker_hash .. worker, 'incarnation', 'mode', 'wanted', 'heard')
  if not own[1] then return 'run', 0 end
  redis.call('ZADD', workers, 'XX', ctx.now_text, worker)
  if own[4] == '0' then redis.call('HSET', worker_hash .. worker, 'heard', '1') end
  if busy >= 0 then redis.call('HSET', worker_hash .. worker, 'busy', busy) end
  return own[2] or 'run', tonumber(own[3] or 0)
end

local arg_made
function arg_rare()
  if arg_made then return arg_made end

-- over_time(ctx, id, started_ms, tied): how many ms a run has exceeded its timeout (the task's or the queue's); below 0
-- if it has not, or has none. heartbeat renews the lease until this value reaches ctx.grace_ms. Only a task with ties
-- has a timeout of its own.
local function over_time(ctx, id, started_ms, tied) local config, task = KEYS[1], KEYS[4]
  local queue_ms = ctx.settings_timeout_ms
  local timeout_ms = tied and redis.call('HGET', task .. id, 'timeout_ms') or queue_ms > 0 and queue_ms
  if not timeout_ms or ctx.now < started_ms + timeout_ms then return -1 end
  if not ctx.grace_ms then
    local row = redis.call('HMGET', config, 'timeout_grace_ms', 'timeout_set_ms')
    ctx.grace_ms, ctx.timeout_set_ms = tonumber(row[1] or 10000), tonumber(row[2] or 0)
  end
  -- A lower timeout of the queue may be over already when it is set. The grace begins then, so that the worker hears of it.
  if timeout_ms == queue_ms then return ctx.now - math.max(started_ms + timeout_ms, ctx.timeout_set_ms) end
  return ctx.now - started_ms - timeout_ms
end

  arg_made = { over_time = over_time }
  return arg_made
end

local running, leases = KEYS[2], KEYS[3]

local ctx, refused = open()
if refused then return refused end

local deadline_ms = ctx.now + (lease_ms > 0 and lease_ms or ctx.settings_lease_ms)
local mode, wanted = 'run', 0
if worker ~= '' then mode, wanted = renew_presence(ctx) end
if item_count == 0 then return { 'ok', ctx.now, mode, wanted, {} } end

-- at most 1,000: items
local held = redis.call('HMGET', running, unpack(item_id))
local deadlines = redis.call('ZMSCORE', leases, unpack(item_id))
local answers, renewed = {}, {}
for i = 1, item_count do
  local flags, ran = flags_of(held[i], item_token[i])
  local tied = flags and string.find(flags, ' ties', 1, true)
  local timed = flags and (tied or ctx.settings_timeout_ms > 0)
  local late_ms = timed and arg_rare().over_time(ctx, item_id[i], tonumber(string.match(ran, '^%d+')), tied) or -1
  local lost = not flags or tonumber(deadlines[i] or 0) <= ctx.now
  if lost or (late_ms >= 0 and late_ms >= ctx.grace_ms) then
    answers[i] = { 'lease_lost' }
  else
    local cancelling = string.find(flags, ' cancel', 1, true)
    answers[i] = { cancelling and 'cancelling' or late_ms >= 0 and 'timed_out' or 'renewed', deadline_ms }
    renewed[#renewed + 1] = deadline_ms
    renewed[#renewed + 1] = item_id[i]
  end
end
if #renewed > 0 then redis.call('ZADD', leases, 'XX', unpack(renewed)) end  -- at most 2,000: two for each item
return { 'ok', ctx.now, mode, wanted, answers }
