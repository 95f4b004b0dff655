#!lua flags=no-writes
-- generated from lua/registry/list.v1.lua by lua/bundle.py; do not edit
-- registry.list.v1: a page of the names, in the order of their bytes. `cursor` is what the last page answered, empty to
-- begin; an empty cursor in the answer means that there is no more. `scan_ms`: each name that existed at this time is
-- listed; 0 before the first scan. `ended_ms`: when that scan had ended. `total`: how many names there are.
--
-- DATA   names  zset {base}:names
-- DATA   scan   hash {base}:scan
-- DATA   config hash {base}:config
-- ARGV   cursor   bytes 0..201  ?=
-- ARGV   limit    int 1..1000   ?=1000
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int scan_ms:int ended_ms:int total:int cursor:text names:ids
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   5 commands; at most 5 commands, 49 steps

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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{registry:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:registry:[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{registry:<name>}:config, <prefix>:{<slot>}:registry:<name>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. ':nowhere' then return refuse('key nowhere', KEYS[2], arg_base .. ':nowhere') end
  KEYS = { arg_base .. ':names', arg_base .. ':scan', arg_base .. ':config' }
end

local cursor = ARGV[1]
if not cursor or #cursor > 201 then
  return refuse('cursor', cursor and #cursor, '0 to 201 bytes long')
end
local limit = ARGV[2]
if limit == '' then
  limit = 1000
else
  limit = arg_uint(limit, 1, 1000)
  if not limit then return refuse('limit', ARGV[2], 'an integer from 1 to 1000') end
end
local now_ms = ARGV[3]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[3], 'an integer from 0 to 9000000000000') end
end
if #ARGV ~= 3 then
  return redis.error_reply('ADEQ_ARG expected 3 arguments, got ' .. #ARGV)
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

local names, scan = KEYS[1], KEYS[2]

local ctx, refused = open()
if refused then return refused end
local page = redis.call('ZRANGE', names, cursor == '' and '-' or '(' .. cursor, '+', 'BYLEX', 'LIMIT', 0, limit)
local last = redis.call('HMGET', scan, 'began_ms', 'ended_ms')
return { 'ok', ctx.now, tonumber(last[1] or 0), tonumber(last[2] or 0), redis.call('ZCARD', names),
  #page == limit and page[limit] or '', page }
