#!lua flags=no-writes
-- generated from lua/change/get_delegations.v1.lua by lua/bundle.py; do not edit
-- change.get_delegations.v1: the delegations of a person, by the bytes of their names, and how many pending requests it has delegated.
--
-- DATA   delegations prefix/hash {base}:delegations: label
-- DATA   away        prefix/zset {base}:away:        label
-- DATA   config      hash        {base}:config
-- ARGV   user     label
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int away:int items:list(item)
-- EACH   item     found name:text delegation:pairs(delegation)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   3 commands; at most 31 commands, 3,100 steps

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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{change:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:change:[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{change:<name>}:config, <prefix>:{<slot>}:change:<name>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. ':nowhere' then return refuse('key nowhere', KEYS[2], arg_base .. ':nowhere') end
  KEYS = { arg_base .. ':delegations:', arg_base .. ':away:', arg_base .. ':config' }
end

local user = ARGV[1]
if not user or #user > 200 or not (arg_find(user, '^[%w._:/@+-]+$') or arg_label(user)) then
  return refuse('user', user, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
end
local now_ms = ARGV[2]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[2], 'an integer from 0 to 9000000000000') end
end
if #ARGV ~= 2 then
  return redis.error_reply('ADEQ_ARG expected 2 arguments, got ' .. #ARGV)
end

-- bytes_before(one, other): whether a text stands before another by its bytes, whatever the locale of the server.
local function bytes_before(one, other)
  for at = 1, math.min(#one, #other) do  -- at most 200: bytes of an id
    local mine, its = string.byte(one, at), string.byte(other, at)
    if mine ~= its then return mine < its end
  end
  return #one < #other
end

-- delegation_fields(stored): the fields of a delegation as it is stored, all of them texts.
local function delegation_fields(stored)
  local fields = {}
  for field, value in string.gmatch(stored, '([%a_]+)=(%S*)') do fields[field] = value end  -- at most 12: fields of a delegation
  return fields
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

-- read_delegation(person, name): the fields of a delegation by name, all of them texts; or nil.
local function read_delegation(person, name) local delegations = KEYS[1]
  local stored = string.sub(name, 1, 1) ~= '#' and redis.call('HGET', delegations .. person, name)
  return stored and delegation_fields(stored) or nil
end

local delegations, away = KEYS[1], KEYS[2]

local ctx, refused = open()
if refused then return refused end
local names, items = redis.call('HKEYS', delegations .. user), {}  -- at most 17: delegations of a person, and `#at`
table.sort(names, bytes_before)
for _, name in ipairs(names) do  -- at most 17: likewise
  local fields, pairs_of = read_delegation(user, name), {}
  for field, value in pairs(fields or {}) do
    pairs_of[#pairs_of + 1] = field
    pairs_of[#pairs_of + 1] = value
  end
  items[#items + 1] = fields and { 'found', name, pairs_of } or nil
end
return { 'ok', ctx.now, redis.call('ZCARD', away .. user), items }
