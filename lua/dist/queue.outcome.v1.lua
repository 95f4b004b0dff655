#!lua flags=no-writes
-- generated from lua/queue/outcome.v1.lua by lua/bundle.py; do not edit
-- queue.outcome.v1: return how tasks ended, for clients that wait for them. It reads the record or, if the record no
-- longer has it, the reply that a task with `reply` leaves for a time. For unfinished tasks, it returns their state,
-- and whether their end will be published. An empty value means none; for a dead task, the value is the error. The
-- answer stops before 4 MiB, but has at least one task; `missed` is the number of items left out at the end.
--
-- DATA   config   hash          {base}:config
-- DATA   leases   zset          {base}:leases
-- DATA   task     prefix/hash   {base}:task:    id
-- DATA   result   prefix/string {base}:result:  id
-- DATA   reply    prefix/string {base}:reply:   id
-- DATA   ready    prefix/zset   {base}:ready:   lane
-- DATA   delayed  zset          {base}:delayed
-- DATA   blocked  zset          {base}:blocked
-- DATA   finished zset          {base}:finished
-- DATA   dead     zset          {base}:dead
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- RETURN ok        now_ms:int missed:int items:list(item)
-- EACH   item      waiting state:text(ready|delayed|blocked|running|stalled) told:int
-- EACH   item      completed value:bytes
-- EACH   item      result_dropped
-- EACH   item      dead reason:name value:bytes
-- EACH   item      cancelled
-- EACH   item      removed
-- EACH   item      not_found
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   2 + 3n to 2 + 9n commands, O(n log m); at most 7,800 commands, 130,000 steps

local MAX_SAFE = 9007199254740991
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
  KEYS = { arg_base .. ':config', arg_base .. ':leases', arg_base .. ':task:', arg_base .. ':result:', arg_base .. ':reply:', arg_base .. ':ready:', arg_base .. ':delayed', arg_base .. ':blocked', arg_base .. ':finished', arg_base .. ':dead' }
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

-- ended_as(ctx, id, state, record): the answer of `outcome` for a task that has ended or is unknown: from its reply, or
-- else from its record.
local function ended_as(ctx, id, state, record) local result, reply = KEYS[4], KEYS[5]
  local left = (record.reply or not state) and redis.call('GET', reply .. id)
  local until_ms, how, value = string.match(left or '', '^(%d+) (.-)\n(.*)$')
  if how and tonumber(until_ms) > ctx.now then
    local status, reason = string.match(how, '^(%S*) ?(.*)$')
    if status == 'completed' then return { 'completed', value } end
    if status == 'dead' then return { 'dead', reason, value } end
    return status == 'removed' and { 'removed' } or status == 'cancelled' and { 'cancelled' } or { 'result_dropped' }
  end
  if not state then return { 'not_found' } end
  if state == 'dead' then return { 'dead', record.reason or 'error', record.error or '' } end
  if state == 'cancelled' then return { 'cancelled' } end
  if string.find(record.settled or '', ' result_dropped', 1, true) then return { 'result_dropped' } end
  local shown = tonumber(record.result_until_ms or MAX_SAFE) > ctx.now
  return { 'completed', shown and redis.call('GET', result .. id) or '' }
end

-- find_set(id, record): the set that a task is in, and its score there; nil if it is in none or has no record.
local function find_set(id, record) local leases, ready, delayed, blocked, finished, dead = KEYS[2], KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
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
local function read_record(id) local task = KEYS[3]
  local flat, record, bytes = redis.call('HGETALL', task .. id), {}, 0  -- at most 70: fields of a record
  if #flat == 0 then return nil, 0 end
  for f = 1, #flat, 2 do
    record[flat[f]] = flat[f + 1]
    bytes = bytes + #flat[f + 1]
  end
  return record, bytes
end

-- state_of(ctx, set, score, record): the state of a task by the set it is in; nil if it is in none.
local function state_of(ctx, set, score, record) local leases, delayed, blocked, finished, dead = KEYS[2], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
  if not set then return nil end
  if set == leases then return tonumber(score) > ctx.now and 'running' or 'stalled' end
  if set == finished then return record.cancelled_ms and 'cancelled' or 'completed' end
  return set == delayed and 'delayed' or set == blocked and 'blocked' or set == dead and 'dead' or 'ready'
end

local finished, dead = KEYS[9], KEYS[10]

local ctx, refused = open()
if refused then return refused end

local answers, bytes = {}, 0
for i = 1, item_count do
  local id = item_id[i]
  local record = read_record(id)
  local set, score = find_set(id, record)
  local state = state_of(ctx, set, score, record)
  if state and set ~= finished and set ~= dead then
    answers[i] = { 'waiting', state, record.reply and 1 or 0 }
  else
    answers[i] = ended_as(ctx, id, state, record or {})
  end
  if answers[i][1] ~= 'waiting' then bytes = bytes + 64 + #(answers[i][3] or answers[i][2] or '') end
  if bytes > 4194304 and i > 1 then
    answers[i] = nil
    return { 'ok', ctx.now, item_count - i + 1, answers }
  end
end
return { 'ok', ctx.now, 0, answers }
