#!lua flags=no-writes
-- generated from lua/queue/get.v1.lua by lua/bundle.py; do not edit
-- queue.get.v1: return tasks as they are now: state, record, payload and result; an empty result means none. `at_ms` is
-- the due time of a delayed task, the deadline of a running one, the time of the end of an ended one, otherwise 0. The
-- answer stops before 4 MiB, but has at least one task; `missed` is the number of items left out at the end.
--
-- DATA   config   hash          {base}:config
-- DATA   running  hash          {base}:running
-- DATA   leases   zset          {base}:leases
-- DATA   task     prefix/hash   {base}:task:    id
-- DATA   payload  prefix/string {base}:payload: id
-- DATA   result   prefix/string {base}:result:  id
-- DATA   ready    prefix/zset   {base}:ready:   lane
-- DATA   delayed  zset          {base}:delayed
-- DATA   blocked  zset          {base}:blocked
-- DATA   finished zset          {base}:finished
-- DATA   dead     zset          {base}:dead
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- RETURN ok        now_ms:int missed:int items:list(item)
-- EACH   item      found id:id state:text at_ms:int place:int record:pairs(task) payload:bytes result:bytes
-- EACH   item      not_found
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   2 + 4n to 2 + 9n commands, O(n log m); at most 2,300 commands, 96,000 steps

local MAX_SAFE = 9007199254740991
local BAND = 281474976710656
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
  if KEYS[2] ~= arg_base .. ':nowhere' then return refuse('key nowhere', KEYS[2], arg_base .. ':nowhere') end
  KEYS = { arg_base .. ':config', arg_base .. ':running', arg_base .. ':leases', arg_base .. ':task:', arg_base .. ':payload:', arg_base .. ':result:', arg_base .. ':ready:', arg_base .. ':delayed', arg_base .. ':blocked', arg_base .. ':finished', arg_base .. ':dead' }
end

local now_ms = ARGV[1]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9007199254740991)
  if not now_ms then return refuse('now_ms', ARGV[1], 'an integer from 0 to 9007199254740991') end
end
local arg_at = 2
local item_count = ARGV[arg_at]
item_count = arg_uint(item_count, 1, 1000)
if not item_count then return refuse('item_count', ARGV[arg_at], 'an integer from 1 to 1000') end
arg_at = arg_at + 1
local item_id = {}
for i = 1, item_count do
  local v = ARGV[arg_at]
  if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
    return refuse('item[' .. i .. '].id', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
  end
  item_id[i] = v
  arg_at = arg_at + 1
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end

-- find_set(id, record): the set that a task is in, and its score there; nil if it is in none or has no record.
local function find_set(id, record) local leases, ready, delayed, blocked, finished, dead = KEYS[3], KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
  if not record then return nil end
  for _, set in ipairs({ ready .. (record.lane or 'any'), leases, finished, delayed, dead, blocked }) do
    local score = redis.call('ZSCORE', set, id)
    if score then return set, score end
  end
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text,  }
end

-- read_record(id): the record of a task as a table by name, and how many bytes its values have; nil if there is none.
local function read_record(id) local task = KEYS[4]
  local flat, record, bytes = redis.call('HGETALL', task .. id), {}, 0  -- at most 70: fields of a record
  if #flat == 0 then return nil, 0 end
  for f = 1, #flat, 2 do
    record[flat[f]] = flat[f + 1]
    bytes = bytes + #flat[f + 1]
  end
  return record, bytes
end

-- state_of(ctx, set, score, record): the state of a task by the set it is in; nil if it is in none.
local function state_of(ctx, set, score, record) local leases, delayed, blocked, finished, dead = KEYS[3], KEYS[8], KEYS[9], KEYS[10], KEYS[11]
  if not set then return nil end
  if set == leases then return tonumber(score) > ctx.now and 'running' or 'stalled' end
  if set == finished then return record.cancelled_ms and 'cancelled' or 'completed' end
  return set == delayed and 'delayed' or set == blocked and 'blocked' or set == dead and 'dead' or 'ready'
end

-- summarise(id, state, score, record): a task as get and list answer it: its state, the time or place that its score
-- says, and its record with the parts of the current or last lease spelled out.
local function summarise(id, state, score, record) local running = KEYS[2]
  local held = redis.call('HGET', running, id)
  local started, attempt, delivery, crashes, fence, worker =
    string.match(held and string.sub(held, (string.find(held, '|', 1, true) or #held) + 1) or record.ran or '', '^(%d+) (%d+) (%d+) (%d+) (%d+) (%S+)$')
  record.worker, record.started_ms, record.fence = worker, started, fence
  if held or state == 'completed' then record.attempts, record.deliveries = attempt, delivery end
  if held then record.token, record.crashes = string.match(held, '^%S+'), crashes end
  record.ran = nil
  local place, at_ms, shown = 0, tonumber(score), {}
  if state == 'ready' or state == 'blocked' then place, at_ms = at_ms % BAND, 0 end
  for name, value in pairs(record) do
    shown[#shown + 1] = name
    shown[#shown + 1] = value
  end
  return { 'found', id, state, at_ms, place, shown }
end

local payload, result = KEYS[5], KEYS[6]

local ctx, refused = open()
if refused then return refused end

local answers, bytes = {}, 0
for i = 1, item_count do
  local id = item_id[i]
  local record, size = read_record(id)
  local set, score = find_set(id, record)
  if not set then
    answers[i] = { 'not_found' }
  else
    local data = redis.call('MGET', payload .. id, result .. id)
    if tonumber(record.result_until_ms or MAX_SAFE) <= ctx.now then data[2] = '' end
    bytes = bytes + 1024 + size + #(data[1] or '') + #(data[2] or '')
    if bytes > 4194304 and i > 1 then return { 'ok', ctx.now, item_count - i + 1, answers } end
    answers[i] = summarise(id, state_of(ctx, set, score, record), score, record)
    answers[i][7], answers[i][8] = data[1] or '', data[2] or ''
  end
end
return { 'ok', ctx.now, 0, answers }
