#!lua
-- generated from lua/queue/set_weights.v1.lua by lua/bundle.py; do not edit
-- queue.set_weights.v1: set the weights of users in a queue with fair shares (`fair` of configure): a user with 200
-- percent starts two tasks for each task of a user with 100, while both have tasks waiting. 0 removes the weight, which
-- means 100. It applies to tasks that are enqueued from now on.
--
-- DATA   config   hash   {base}:config
-- DATA   once     hash   {base}:once
-- DATA   once_due zset   {base}:once:due
-- DATA   weights  hash   {base}:weights
-- DATA   events   stream {base}:events
-- ARGV   rid       id
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   user      label
-- ITEM   weight_pct int 0..10000
-- RETURN ok        now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  weight.set
-- ROLE   operate
-- REPLAY rid
-- COST   8 + 2n commands, O(n); at most 2,300 commands, 26,000 steps

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
  if KEYS[2] ~= arg_base .. '!operate' then return refuse('key gate', KEYS[2], arg_base .. '!operate') end
  KEYS = { arg_base .. ':config', arg_base .. ':once', arg_base .. ':once:due', arg_base .. ':weights', arg_base .. ':events' }
end

local rid = ARGV[1]
if not rid or #rid > 200 or not arg_find(rid, '^[%w._:/@+-]+$') then
  return refuse('rid', rid, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
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
local item_count = ARGV[arg_at]
item_count = arg_uint(item_count, 1, 1000)
if not item_count then return refuse('item_count', ARGV[arg_at], 'an integer from 1 to 1000') end
arg_at = arg_at + 1
local item_user, item_weight_pct = {}, {}
for i = 1, item_count do
  local v = ARGV[arg_at]
  if not v or #v > 200 or not (arg_find(v, '^[%w._:/@+-]+$') or arg_label(v)) then
    return refuse('item[' .. i .. '].user', v, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
  end
  item_user[i] = v
  v = ARGV[arg_at + 1]
  v = arg_uint(v, 0, 10000)
  if not v then return refuse('item[' .. i .. '].weight_pct', ARGV[arg_at + 1], 'an integer from 0 to 10000') end
  item_weight_pct[i] = v
  arg_at = arg_at + 2
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end

-- create_base(clock): store the layout and the clock of a new base. The clock is `test` or `server` (the default).
local function create_base(clock) local config = KEYS[1]
  redis.call('HSET', config, 'layout', 2, 'layout_min', 2, 'clock', clock == 'test' and 'test' or 'server')
end

-- done_before(ctx, verb): the answer that an earlier call with this verb and rid stored in the last minute, or nil.
local function done_before(ctx, verb) local once = KEYS[2]
  if rid == '' then return nil end
  local word, until_ms = string.match(redis.call('HGET', once, 'done:' .. verb .. ':' .. rid) or '', '^(%S+) (%d+)$')
  if word and tonumber(until_ms) > ctx.now then return word end
end

-- emit(ctx, event, id, detail): add an entry to the stream, if the noun keeps events. detail: `name=value` words, or
-- ''. The trace is ctx.trace, that of the task, or else that of the call.
local function emit(ctx, event, id, detail) local events = KEYS[5]
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
local function hold_once(ctx, field, id, keep_ms, stamp) local once, once_due = KEYS[2], KEYS[3]
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
local function sweep_once(ctx, limit) local once, once_due = KEYS[2], KEYS[3]
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

local weights = KEYS[4]

local ctx, refused = open()
if refused then return refused end
if not done_before(ctx, 'set_weights') then
  if not ctx.exists then create_base() end
  for i, user in ipairs(item_user) do
    if item_weight_pct[i] > 0 then
      redis.call('HSET', weights, user, item_weight_pct[i])
    else
      redis.call('HDEL', weights, user)
    end
    emit(ctx, 'weight.set', user, 'weight_pct=' .. item_weight_pct[i])
  end
  note_done(ctx, 'set_weights', 'done')
end
return { 'ok', ctx.now }
