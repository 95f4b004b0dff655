#!lua flags=no-writes
-- generated from lua/config/history.v1.lua by lua/bundle.py; do not edit
-- config.history.v1: the versions of a name, newest first, the present one included: the last 100, and of earlier ones at most 1 MiB. With
-- `version`, only this one. The answer has the present version, 0 if the name has no value. The history of a removed name is kept as long as
-- the removal is known.
--
-- DATA   value   prefix/hash {base}:value:   id
-- DATA   history prefix/list {base}:history: id
-- DATA   config  hash        {base}:config
-- ARGV   name     id
-- ARGV   version  int 0..9007199254740991 ?=0
-- ARGV   cursor   bytes 0..300     ?=
-- ARGV   limit    int 1..100       ?=20
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int version:int cursor:text items:list(past)
-- EACH   past     value version:int at_ms:int actor:bytes reason:bytes value:bytes
-- EACH   past     removed version:int at_ms:int actor:bytes reason:bytes
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   4 commands; at most 4 commands, 1,100 steps

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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{config:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:config:[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{config:<name>}:config, <prefix>:{<slot>}:config:<name>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. ':nowhere' then return refuse('key nowhere', KEYS[2], arg_base .. ':nowhere') end
  KEYS = { arg_base .. ':value:', arg_base .. ':history:', arg_base .. ':config' }
end

local name = ARGV[1]
if not name or #name > 200 or not arg_find(name, '^[%w._:/@+-]+$') then
  return refuse('name', name, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local version = ARGV[2]
if version == '' then
  version = 0
else
  version = arg_uint(version, 0, 9007199254740991)
  if not version then return refuse('version', ARGV[2], 'an integer from 0 to 9007199254740991') end
end
local cursor = ARGV[3]
if not cursor or #cursor > 300 then
  return refuse('cursor', cursor and #cursor, '0 to 300 bytes long')
end
local limit = ARGV[4]
if limit == '' then
  limit = 20
else
  limit = arg_uint(limit, 1, 100)
  if not limit then return refuse('limit', ARGV[4], 'an integer from 1 to 100') end
end
local now_ms = ARGV[5]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[5], 'an integer from 0 to 9000000000000') end
end
if #ARGV ~= 5 then
  return redis.error_reply('ADEQ_ARG expected 5 arguments, got ' .. #ARGV)
end

-- entry_text(record): a version of a name as its history has it.
local function entry_text(record)
  return table.concat({ record.version, record.at_ms, record.value and 'value' or 'removed', #record.actor, #record.reason,
    record.actor .. record.reason .. (record.value or '') }, ' ')
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text,  }
end

-- read_record(name): what is stored of a name: version, at_ms, actor, reason, size, and value or removed. All are texts; version is false
-- if nothing is stored.
-- EARLY
local function read_record(name) local value = KEYS[1]
  local row = redis.call('HMGET', value .. name, 'version', 'at_ms', 'actor', 'reason', 'size', 'removed', 'value')
  return { version = row[1], at_ms = row[2], actor = row[3], reason = row[4], size = row[5], removed = row[6], value = row[7] }
end

local history = KEYS[2]

local ctx, refused = open()
if refused then return refused end
local below = MAX_SAFE
if cursor ~= '' then
  below = tonumber(string.match(cursor, '^%d+$'))
  if not below then return refuse('cursor', cursor, 'empty, or what the page before answered') end
end
local record = read_record(name)
local entries = redis.call('LRANGE', history .. name, 0, 98)  -- at most 99, and 1 MiB
if record.version then table.insert(entries, 1, entry_text(record)) end
local items, last = {}, ''
for _, text in ipairs(entries) do
  local own, at_ms, status, actor_size, reason_size, start = string.match(text, '^(%d+) (%d+) (%a+) (%d+) (%d+) ()')
  own = tonumber(own)
  if own < below and (version == 0 or own == version) then
    if #items == limit then
      last = string.format('%.0f', items[limit][2])
      break
    end
    local reason_at = start + actor_size
    local value_at = reason_at + reason_size
    items[#items + 1] = { status, own, tonumber(at_ms), string.sub(text, start, reason_at - 1), string.sub(text, reason_at, value_at - 1),
      status == 'value' and string.sub(text, value_at) or nil }
  end
end
return { 'ok', ctx.now, record.value and tonumber(record.version) or 0, last, items }
