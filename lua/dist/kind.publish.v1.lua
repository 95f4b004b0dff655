#!lua
-- generated from lua/kind/publish.v1.lua by lua/bundle.py; do not edit
-- kind.publish.v1: tell which kinds of tasks a worker knows, with their schemas. Each is kept for the setting `keep_ms`,
-- so workers publish again from time to time. A catalog has at most 500 kinds. A newer version stays until it expires.
--
-- DATA   kind     prefix/hash {base}:kind:    id
-- DATA   expiring zset        {base}:expiring
-- DATA   config   hash        {base}:config
-- DATA   events   stream      {base}:events
-- ARGV   source   bytes 0..200  ?=
-- ARGV   trace    bytes 0..128  ?=
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- ITEM   id       id
-- ITEM   version  int 1..1000000000
-- ITEM   schema   bytes 0..16384
-- GROUP  item     1..50
-- RETURN ok       now_ms:int items:list(item)
-- EACH   item     published expires_ms:int
-- EACH   item     older
-- EACH   item     full
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  kind.published kind.expired
-- ROLE   work
-- REPLAY idempotent
-- COST   5 + 5n commands; at most 450 commands, 3,500 steps

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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{kind:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:kind:[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{kind:<name>}:config, <prefix>:{<slot>}:kind:<name>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. '!work' then return refuse('key gate', KEYS[2], arg_base .. '!work') end
  KEYS = { arg_base .. ':kind:', arg_base .. ':expiring', arg_base .. ':config', arg_base .. ':events' }
end

local source = ARGV[1]
if not source or #source > 200 then
  return refuse('source', source and #source, '0 to 200 bytes long')
end
local trace = ARGV[2]
if not trace or #trace > 128 then
  return refuse('trace', trace and #trace, '0 to 128 bytes long')
end
local now_ms = ARGV[3]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[3], 'an integer from 0 to 9000000000000') end
end
local arg_at = 4
local item_count = ARGV[arg_at]
item_count = arg_uint(item_count, 1, 50)
if not item_count then return refuse('item_count', ARGV[arg_at], 'an integer from 1 to 50') end
arg_at = arg_at + 1
local item_id, item_version, item_schema = {}, {}, {}
for i = 1, item_count do
  local v = ARGV[arg_at]
  if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
    return refuse('item[' .. i .. '].id', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
  end
  item_id[i] = v
  v = ARGV[arg_at + 1]
  v = arg_uint(v, 1, 1000000000)
  if not v then return refuse('item[' .. i .. '].version', ARGV[arg_at + 1], 'an integer from 1 to 1000000000') end
  item_version[i] = v
  v = ARGV[arg_at + 2]
  if not v or #v > 16384 then
    return refuse('item[' .. i .. '].schema', v and #v, '0 to 16384 bytes long')
  end
  item_schema[i] = v
  arg_at = arg_at + 3
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end

-- create_base(clock): store the layout and the clock of a new base. The clock is `test` or `server` (the default).
local function create_base(clock) local config = KEYS[3]
  redis.call('HSET', config, 'layout', 1, 'layout_min', 1, 'clock', clock == 'test' and 'test' or 'server')
end

-- emit(ctx, event, id, detail): add an entry to the stream, if the noun keeps events. detail: `name=value` words, or
-- ''. The trace is ctx.trace, that of the task, or else that of the call.
local function emit(ctx, event, id, detail) local events = KEYS[4]
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
local function open(clock, row) local config = KEYS[3]
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'keep_ms', 'events_max')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_keep_ms = tonumber(row[3] or 86400000), settings_events_max = tonumber(row[4] or 1000) }
end

-- remove_expired(ctx, limit): delete kinds that nobody has published for long, at most `limit`, 1,000 or less. Returns
-- how many.
local function remove_expired(ctx, limit) local kind, expiring = KEYS[1], KEYS[2]
  local ids = redis.call('ZRANGE', expiring, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, limit)
  for _, id in ipairs(ids) do
    redis.call('DEL', kind .. id)
    emit(ctx, 'kind.expired', id, '')
  end
  if #ids > 0 then redis.call('ZREM', expiring, unpack(ids)) end  -- at most 1,000: limit
  return #ids
end

local kind, expiring = KEYS[1], KEYS[2]

local ctx, refused = open()
if refused then return refused end
if not ctx.exists then create_base() end
remove_expired(ctx, 100)
local expires_ms = ctx.now + ctx.settings_keep_ms
local expires_text = string.format('%.0f', expires_ms)
local count = redis.call('ZCARD', expiring)
local answers = {}
for i = 1, item_count do
  local id, version = item_id[i], item_version[i]
  local before = redis.call('HMGET', kind .. id, 'version', 'schema')
  if not before[1] and count >= 500 then
    answers[i] = { 'full' }
  elseif before[1] and tonumber(before[1]) > version then
    answers[i] = { 'older' }
  else
    if not before[1] then count = count + 1 end
    redis.call('HSET', kind .. id, 'version', string.format('%.0f', version), 'schema', item_schema[i],
      'expires_ms', expires_text)
    redis.call('ZADD', expiring, expires_text, id)
    if tonumber(before[1]) ~= version or before[2] ~= item_schema[i] then
      emit(ctx, 'kind.published', id, 'version=' .. string.format('%.0f', version))
    end
    answers[i] = { 'published', expires_ms }
  end
end
return { 'ok', ctx.now, answers }
