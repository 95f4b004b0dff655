#!lua
-- generated from lua/kernel/scripts/configure.v1.lua by lua/bundle.py; do not edit
-- config.configure.v1: change settings of a config namespace, and create it if it does not exist. The clock is chosen once,
-- at creation. Without settings, it returns the stored ones; all others have their defaults. If the call is sent
-- again, it sets the same again.
--
-- DATA   config hash {base}:config
-- ARGV   clock     enum keep|server|test ?=keep
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- SETTINGS settings
-- GROUP  settings  0..1
-- RETURN ok        now_ms:int settings:pairs(settings)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK ADEQ_CONFLICT
-- ROLE   operate
-- REPLAY idempotent
-- COST   5 commands; at most 6 commands, 400 steps

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
  if KEYS[2] ~= arg_base .. '!operate' then return refuse('key gate', KEYS[2], arg_base .. '!operate') end
  KEYS = { arg_base .. ':config' }
end

local clock = ARGV[1]
if clock == '' then
  clock = 'keep'
elseif clock ~= 'keep' and clock ~= 'server' and clock ~= 'test' then
  return refuse('clock', clock, 'one of keep, server, test')
end
local now_ms = ARGV[2]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[2], 'an integer from 0 to 9000000000000') end
end
local arg_at = 3
local settings_count = ARGV[arg_at]
settings_count = arg_uint(settings_count, 0, 1)
if not settings_count then return refuse('settings_count', ARGV[arg_at], 'an integer from 0 to 1') end
arg_at = arg_at + 1
local settings_pairs = arg_empty
if settings_count > 0 then settings_pairs = {} end
local arg_seen_settings
for i = 1, settings_count do
  local size, entry = ARGV[arg_at], arg_empty
  arg_at = arg_at + 1
  if size ~= '0' then
    size = size and #size == 1 and arg_find('123', size, 1, true) or arg_uint(size, 0, 3)
    if not size then return refuse('settings[' .. i .. '].pairs', ARGV[arg_at - 1], 'an integer from 0 to 3') end
    arg_seen_settings = arg_seen_settings or {}
    local filled = 0
    for at = arg_at, arg_at + 2 * size - 2, 2 do
      local name, raw = ARGV[at], ARGV[at + 1]
      local v = raw
      if name == 'events_max' then
        v = arg_uint(v, 0, 10000000)
        if not v then return refuse('settings[' .. i .. '].events_max', raw, 'an integer from 0 to 10000000') end
      elseif name == 'names_max' then
        v = arg_uint(v, 1, 100000)
        if not v then return refuse('settings[' .. i .. '].names_max', raw, 'an integer from 1 to 100000') end
      elseif name == 'removed_ms' then
        v = arg_uint(v, 1000, 7776000000)
        if not v then return refuse('settings[' .. i .. '].removed_ms', raw, 'an integer from 1000 to 7776000000') end
      else
        return refuse('settings[' .. i .. '].pairs', name, 'names from events_max, names_max, removed_ms')
      end
      if arg_seen_settings[name] == i then
        return refuse('settings[' .. i .. '].' .. name, 2, 'given at most once')
      end
      arg_seen_settings[name] = i
      if v ~= nil then
        if filled == 0 then
          entry = { name, raw, [name] = v }
        else
          entry[filled + 1] = name
          entry[filled + 2] = raw
          entry[name] = v
        end
        filled = filled + 2
      end
    end
    arg_at = arg_at + 2 * size
  end
  settings_pairs[i] = entry
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end

-- create_base(clock): store the layout and the clock of a new base. The clock is `test` or `server` (the default).
local function create_base(clock) local config = KEYS[1]
  redis.call('HSET', config, 'layout', 1, 'layout_min', 1, 'clock', clock == 'test' and 'test' or 'server')
end

-- change_settings(ctx, clock, changes): store these settings, the pairs of a call, and create the base if there is none.
local function change_settings(ctx, clock, changes) local config = KEYS[1]
  if not ctx.exists then create_base(ctx.settings_clock or clock) end  -- a base that has lost its layout keeps its clock
  if #changes > 0 then redis.call('HSET', config, unpack(changes)) end  -- at most 100: two for each setting
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
local function open(clock, row) local config = KEYS[1]
  row = row or redis.call('HMGET', config, 'layout_min', 'clock')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_clock = row[2] }
end

-- open_to_configure(clock): open a call that may create the base with this clock; or nil and the error to return, also
-- if the base has the other clock.
local function open_to_configure(clock)
  local ctx, refused = open(clock)
  if refused then return nil, refused end
  local stored = ctx.settings_clock
  if stored and clock ~= 'keep' and clock ~= stored then
    return nil, redis.error_reply('ADEQ_CONFLICT clock is ' .. stored .. ' since this ' .. 'namespace'
      .. ' was created, and cannot become ' .. clock)
  end
  return ctx
end

local config = KEYS[1]

local ctx, refused = open_to_configure(clock)
if refused then return refused end
change_settings(ctx, clock, settings_pairs[1] or {})
return { 'ok', ctx.now, redis.call('HGETALL', config) }  -- at most 60: settings and other fields
