#!lua flags=allow-oom
-- generated from lua/queue/step.v1.lua by lua/bundle.py; do not edit
-- queue.step.v1: store what steps of running tasks have returned, so that later runs need not take them again. A stored
-- step never changes: a second call for its name gets the first value, or `stored` if its value is the same. It renews the
-- lease, but never to an earlier time, and the crashes of the task count from 0. Past its deadline, a lease is lost here. A step is
-- named by `name` and, if the run has asked for the name before, by `number`: `edit`, `edit#2`. Kind `patch`: a mark that
-- the task runs changed code.
--
-- DATA   config  hash        {base}:config
-- DATA   running hash        {base}:running
-- DATA   leases  zset        {base}:leases
-- DATA   task    prefix/hash {base}:task:   id
-- DATA   steps   prefix/hash {base}:steps:  id
-- ARGV   lease_ms  int 0..86400000 ?=0
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- ITEM   token     id
-- ITEM   name      label
-- ITEM   number    int 1..10000  ?=1
-- ITEM   kind      enum step|patch ?=step
-- ITEM   value     bytes 0..1048576
-- GROUP  item      1..100
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      stored deadline_ms:int
-- EACH   item      known deadline_ms:int value:bytes
-- EACH   item      diverged kind:text
-- EACH   item      full
-- EACH   item      lease_lost
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   work
-- REPLAY token
-- FLAGS  allow-oom
-- COST   4 + 6n commands, 2 more for a task that has crashed; at most 670 commands, 7,800 steps

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
local function arg_label(v)
  local gsub, more = string.gsub, '[\128-\191]'
  if arg_find(v, '\226\128[\128-\138\168\169\175]') or arg_find(v, '\226\129\159') then return nil end
  if arg_find(v, '\225\154\128') or arg_find(v, '\227\128\128') then return nil end
  v = gsub(gsub(v, '\194[\161-\191]', 'a'), '[\195-\223]' .. more, 'a')
  v = gsub(gsub(v, '\224[\160-\191]' .. more, 'a'), '\237[\128-\159]' .. more, 'a')
  v = gsub(v, '[\225-\236\238\239]' .. more .. more, 'a')
  v = gsub(gsub(v, '\240[\144-\191]' .. more .. more, 'a'), '\244[\128-\143]' .. more .. more, 'a')
  v = gsub(v, '[\241-\243]' .. more .. more .. more, 'a')
  return arg_find(v, '^[%w._:/@+-]+$')
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
  KEYS = { arg_base .. ':config', arg_base .. ':running', arg_base .. ':leases', arg_base .. ':task:', arg_base .. ':steps:' }
end

local lease_ms = ARGV[1]
if lease_ms == '' then
  lease_ms = 0
else
  lease_ms = arg_uint(lease_ms, 0, 86400000)
  if not lease_ms then return refuse('lease_ms', ARGV[1], 'an integer from 0 to 86400000') end
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
local arg_at = 5
local arg_bytes = 0
local item_count = ARGV[arg_at]
item_count = arg_uint(item_count, 1, 100)
if not item_count then return refuse('item_count', ARGV[arg_at], 'an integer from 1 to 100') end
arg_at = arg_at + 1
local item_id, item_token, item_name, item_number, item_kind, item_value = {}, {}, {}, {}, {}, {}
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
  v = ARGV[arg_at + 2]
  if not v or #v > 200 or not (arg_find(v, '^[%w._:/@+-]+$') or arg_label(v)) then
    return refuse('item[' .. i .. '].name', v, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
  end
  item_name[i] = v
  v = ARGV[arg_at + 3]
  if v == '' then
    v = 1
  else
    v = arg_uint(v, 1, 10000)
    if not v then return refuse('item[' .. i .. '].number', ARGV[arg_at + 3], 'an integer from 1 to 10000') end
  end
  item_number[i] = v
  v = ARGV[arg_at + 4]
  if v == '' then
    v = 'step'
  elseif v ~= 'step' and v ~= 'patch' then
    return refuse('item[' .. i .. '].kind', v, 'one of step, patch')
  end
  item_kind[i] = v
  v = ARGV[arg_at + 5]
  if not v or #v > 1048576 then
    return refuse('item[' .. i .. '].value', v and #v, '0 to 1048576 bytes long')
  end
  arg_bytes = arg_bytes + #v
  item_value[i] = v
  arg_at = arg_at + 6
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end
if arg_bytes > 16777216 then
  return refuse('the items of a call', arg_bytes, 'at most 16777216 bytes')
end

-- forget_crashes(id, held): a task has come further, so its crashes count from 0: in its lease, an entry of `running`, and in
-- its record.
local function forget_crashes(id, held) local running, task = KEYS[2], KEYS[4]
  local bar = string.find(held, '|', 1, true)
  local ran = string.gsub(string.sub(held, bar + 1), '^(%d+ %d+ %d+) %d+', '%1 0')
  redis.call('HSET', running, id, string.sub(held, 1, bar) .. ran)
  redis.call('HDEL', task .. id, 'crashes')
end

-- step_entry(step): the entry of `steps:<id>` for a step with the parts that step_parts reads.
local function step_entry(step)
  return string.format('%d %s %.0f %.0f\n', step.place, step.kind, step.at_ms, step.fence) .. step.value
end

-- step_parts(entry): the parts of an entry of `steps:<id>`; nil if there is none.
local function step_parts(entry)
  local place, kind, at_ms, fence, from = string.match(entry or '', '^(%d+) (%l+) (%d+) (%d+)\n()')
  if not place then return nil end
  return {
    place = tonumber(place), kind = kind, at_ms = tonumber(at_ms), fence = tonumber(fence), value = string.sub(entry, from),
  }
end

-- keep_step(ctx, id, name, kind, value, fence): store a step of a task that runs, unless there is one of this name: that
-- one stays. Returns what is stored now, as step_parts reads it; or nil and the answer to give: `lease_lost` (its record
-- is gone), `full` or `diverged`. A step counts for the bytes of its name and its value, and for 32 more.
local function keep_step(ctx, id, name, kind, value, fence) local task, steps = KEYS[4], KEYS[5]
  local own = redis.call('HMGET', task .. id, 'created_ms', 'durable')
  if not own[1] then return nil, { 'lease_lost' } end
  if not own[2] then redis.call('DEL', steps .. id) end  -- those of an older task whose record was evicted
  local earlier = own[2] and step_parts(redis.call('HGET', steps .. id, name))
  if earlier and earlier.kind ~= kind then return nil, { 'diverged', earlier.kind } end
  if earlier then return earlier end
  local count, bytes = string.match(own[2] or '0 0', '^(%d+) (%d+)$')
  count, bytes = count + 1, bytes + #name + #value + 32
  if count > ctx.settings_steps_max or bytes > ctx.settings_steps_bytes then return nil, { 'full' } end
  local step = { place = count, kind = kind, at_ms = ctx.now, fence = fence, value = value }
  redis.call('HSET', steps .. id, name, step_entry(step))
  redis.call('HSET', task .. id, 'durable', string.format('%d %d', count, bytes))
  return step
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'lease_ms', 'timeout_ms', 'steps_max', 'steps_bytes', 'layout')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_lease_ms = tonumber(row[3] or 15000), settings_timeout_ms = tonumber(row[4] or 0), settings_steps_max = tonumber(row[5] or 1000), settings_steps_bytes = tonumber(row[6] or 1048576), settings_layout = tonumber(row[7] or 0) }
end

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

-- read_lease(value): the parts of an entry of `running`, or nil if there is none. The entry is two halves with a bar
-- between: '<token> <score> <lane>[ ties][ limits=<keys>][ trace=<trace>][ cancel]', and what the record keeps once the lease has ended, `ran`:
-- '<started_ms> <attempt> <delivery> <crashes> <fence> <worker>'.
local function read_lease(value)
  if not value then return nil end
  local token, score, lane, flagged = string.match(value, '^(%S+) (%d+) ([^ |]+)()')
  local bar = string.find(value, '|', flagged, true)  -- plain searches: the flags may have 5 KB
  local flags, ran = string.sub(value, flagged, bar - 1), string.sub(value, bar + 1)
  local traced = string.find(flags, ' trace=', 1, true)
  local started_ms, attempt, delivery, crashes, fence, worker =
    string.match(ran, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%S+)$')
  return {
    token = token, score = score, lane = lane, tied = string.find(flags, ' ties', 1, true),
    cancelling = string.find(flags, ' cancel', 1, true), ran = ran, started_ms = tonumber(started_ms),
    attempt = tonumber(attempt), delivery = tonumber(delivery), crashes = tonumber(crashes), fence = tonumber(fence),
    worker = worker, trace = traced and string.match(flags, '^%S+', traced + 7) or nil,
  }
end

-- refuse_older(ctx): the error if this queue may not have steps yet: scripts of layout 1 know nothing of them, and may use
-- the queue.
local function refuse_older(ctx)
  if ctx.settings_layout < 2 then
    return redis.error_reply('ADEQ_LAYOUT this queue has layout ' .. ctx.settings_layout .. ', and steps need 2: when all'
      .. ' clients are of this release, run `adeq scripts migrate`')
  end
end

-- step_name(name, number): the name of a step among those of its task: that of the second step `edit` is `edit#2`.
local function step_name(name, number)
  return number == 1 and name or name .. '#' .. number
end

local running, leases = KEYS[2], KEYS[3]

local ctx, refused = open()
refused = refused or refuse_older(ctx)
if refused then return refused end

local deadline_ms = ctx.now + (lease_ms > 0 and lease_ms or ctx.settings_lease_ms)
local answers = {}
-- at most 100: items
local held = redis.call('HMGET', running, unpack(item_id))
local deadlines = redis.call('ZMSCORE', leases, unpack(item_id))
for i, id in ipairs(item_id) do
  local lease, ends_ms = read_lease(held[i]), tonumber(deadlines[i] or 0)
  if not lease or lease.token ~= item_token[i] or ends_ms <= ctx.now then
    answers[i] = { 'lease_lost' }
  else
    local name, value = step_name(item_name[i], item_number[i]), item_value[i]
    local step, answer = keep_step(ctx, id, name, item_kind[i], value, lease.fence)
    if step then
      local timed = lease.tied or ctx.settings_timeout_ms > 0
      local late = timed and over_time(ctx, id, lease.started_ms, lease.tied) >= 0
      if not late then redis.call('ZADD', leases, 'XX', 'GT', deadline_ms, id) end
      if lease.crashes > 0 then forget_crashes(id, held[i]) end
      answer = { step.value == value and 'stored' or 'known', late and ends_ms or math.max(ends_ms, deadline_ms) }
      if step.value ~= value then answer[3] = step.value end
    end
    answers[i] = answer
  end
end
return { 'ok', ctx.now, answers }
