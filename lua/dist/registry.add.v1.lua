#!lua
-- generated from lua/registry/add.v1.lua by lua/bundle.py; do not edit
-- registry.add.v1: add names. A client adds each name once, after its first write. A program that scans all keys adds what
-- it found, and then says with `scan_ms` when its scan began: from then on, the names are complete up to that time. If the
-- registry is full, it does not become complete.
--
-- DATA   names  zset {base}:names
-- DATA   scan   hash {base}:scan
-- DATA   config hash {base}:config
-- ARGV   scan_ms  int 0..9000000000000 ?=0
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- ITEM   name     name
-- ITEM   tag      name          ?=
-- GROUP  item     0..500
-- RETURN ok       now_ms:int added:int full:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   register
-- REPLAY state
-- COST   4 + n commands; at most 560 commands, 7,800 steps

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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{registry:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:registry:[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{registry:<name>}:config, <prefix>:{<slot>}:registry:<name>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. '!register' then return refuse('key gate', KEYS[2], arg_base .. '!register') end
  KEYS = { arg_base .. ':names', arg_base .. ':scan', arg_base .. ':config' }
end

local scan_ms = ARGV[1]
if scan_ms == '' then
  scan_ms = 0
else
  scan_ms = arg_uint(scan_ms, 0, 9000000000000)
  if not scan_ms then return refuse('scan_ms', ARGV[1], 'an integer from 0 to 9000000000000') end
end
local now_ms = ARGV[2]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[2], 'an integer from 0 to 9000000000000') end
end
local arg_at = 3
local item_count = ARGV[arg_at]
item_count = arg_uint(item_count, 0, 500)
if not item_count then return refuse('item_count', ARGV[arg_at], 'an integer from 0 to 500') end
arg_at = arg_at + 1
local item_name, item_tag = arg_empty, arg_empty
if item_count > 0 then item_name, item_tag = {}, {} end
for i = 1, item_count do
  local v = ARGV[arg_at]
  if not v or #v > 100 or not arg_find(v, '^[%w._@+-]+$') then
    return refuse('item[' .. i .. '].name', v, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
  end
  item_name[i] = v
  v = ARGV[arg_at + 1]
  if v ~= '' and (not v or #v > 100 or not arg_find(v, '^[%w._@+-]+$')) then
    return refuse('item[' .. i .. '].tag', v, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
  end
  item_tag[i] = v
  arg_at = arg_at + 2
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end

-- create_base(clock): store the layout and the clock of a new base. The clock is `test` or `server` (the default).
local function create_base(clock) local config = KEYS[3]
  redis.call('HSET', config, 'layout', 1, 'layout_min', 1, 'clock', clock == 'test' and 'test' or 'server')
end

-- full_name(name, tag): how a name, or a partition of it, is stored.
local function full_name(name, tag)
  return tag == '' and name or name .. '/' .. tag
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'names_max')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_names_max = tonumber(row[3] or 1000000) }
end

local names, scan = KEYS[1], KEYS[2]

local ctx, refused = open()
if refused then return refused end
if not ctx.exists then create_base() end
local room = ctx.settings_names_max - redis.call('ZCARD', names)
local added, full = 0, 0
for i = 1, item_count do
  local name = full_name(item_name[i], item_tag[i])
  if room > 0 then
    local is_new = redis.call('ZADD', names, 'NX', 0, name)
    added, room = added + is_new, room - is_new
  elseif not redis.call('ZSCORE', names, name) then
    full = full + 1
  end
end
if scan_ms > 0 then
  redis.call('HDEL', scan, 'by', 'until_ms')
  if full == 0 and scan_ms > tonumber(redis.call('HGET', scan, 'began_ms') or 0) then
    redis.call('HSET', scan, 'began_ms', string.format('%.0f', math.min(scan_ms, ctx.now)), 'ended_ms', ctx.now_text)
  end
end
return { 'ok', ctx.now, added, full }
