#!lua flags=no-writes
-- generated from lua/rate/rules.v1.lua by lua/bundle.py; do not edit
-- rate.rules.v1: rules by name, or all of the namespace in any order.
--
-- DATA   rules  hash {base}:rules
-- DATA   config hash {base}:config
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- ITEM   name     id
-- GROUP  item     0..100
-- RETURN ok       now_ms:int items:list(item)
-- EACH   item     found name:text rule:pairs(rule)
-- EACH   item     unknown name:text
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   3 commands; at most 4 commands, 10,000 steps

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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{rate:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:rate:[%w._@+-]+):config$') or string.match(KEYS[1], '^([%w._@+-]+:{rate:[%w._@+-]+/[%w._@+-]+}):config$') or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:rate:[%w._@+-]+/[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{rate:<name>}:config, <prefix>:{<slot>}:rate:<name>:config, <prefix>:{rate:<name>/<tag>}:config, <prefix>:{<slot>}:rate:<name>/<tag>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. ':nowhere' then return refuse('key nowhere', KEYS[2], arg_base .. ':nowhere') end
  KEYS = { arg_base .. ':rules', arg_base .. ':config' }
end

local now_ms = ARGV[1]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[1], 'an integer from 0 to 9000000000000') end
end
local arg_at = 2
local item_count = ARGV[arg_at]
item_count = arg_uint(item_count, 0, 100)
if not item_count then return refuse('item_count', ARGV[arg_at], 'an integer from 0 to 100') end
arg_at = arg_at + 1
local item_name = arg_empty
if item_count > 0 then item_name = {} end
for i = 1, item_count do
  local v = ARGV[arg_at]
  if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
    return refuse('item[' .. i .. '].name', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
  end
  item_name[i] = v
  arg_at = arg_at + 1
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
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
local function open(clock, row) local config = KEYS[2]
  row = row or redis.call('HMGET', config, 'layout_min', 'clock')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text,  }
end

-- read_rule(stored): the algorithm, pace, burst, limit, period_ms, on_error, mode and version of a rule, as texts; nil: there is no such
-- rule.
-- EARLY
local function read_rule(stored)
  return string.match(stored or '', '^(%l+) (%d+) (%d+) (%d+) (%d+) (%l+) (%l+) (%d+)$')
end

local rules = KEYS[1]

local ctx, refused = open()
if refused then return refused end
local names, items = item_name, {}
if item_count == 0 then names = redis.call('HKEYS', rules) end  -- at most 1,000: rules of a namespace
local stored = #names > 0 and redis.call('HMGET', rules, unpack(names)) or {}  -- at most 1,000: rules of a namespace
for i, name in ipairs(names) do
  local algorithm, pace, burst, limit, period_ms, on_error, mode, version = read_rule(stored[i])
  items[i] = algorithm and {
    'found', name, {
      'algorithm', algorithm, 'limit', limit, 'period_ms', period_ms, 'burst', burst, 'lease_ms', algorithm == 'concurrency' and pace or '0',
      'on_error', on_error, 'shadow', mode == 'shadow' and '1' or '0', 'version', version,
    },
  } or { 'unknown', name }
end
return { 'ok', ctx.now, items }
