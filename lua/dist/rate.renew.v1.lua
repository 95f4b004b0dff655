#!lua flags=allow-oom
-- generated from lua/rate/renew.v1.lua by lua/bundle.py; do not edit
-- rate.renew.v1: let leases of concurrency last for `lease_ms` of their rules from now on.
--
-- DATA   rules  hash        {base}:rules
-- DATA   leases prefix/zset {base}:c:     pair
-- DATA   config hash        {base}:config
-- ARGV   now_ms    int 0..9000000000000  ?=0
-- ITEM   rule      id
-- ITEM   subject   label
-- ITEM   lease     id
-- GROUP  item      1..100
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      renewed deadline_ms:int
-- EACH   item      gone
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   use
-- REPLAY idempotent
-- FLAGS  allow-oom
-- COST   3 + 3n commands; at most 230 commands, 2,900 steps

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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{rate:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:rate:[%w._@+-]+):config$') or string.match(KEYS[1], '^([%w._@+-]+:{rate:[%w._@+-]+/[%w._@+-]+}):config$') or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:rate:[%w._@+-]+/[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{rate:<name>}:config, <prefix>:{<slot>}:rate:<name>:config, <prefix>:{rate:<name>/<tag>}:config, <prefix>:{<slot>}:rate:<name>/<tag>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. '!use' then return refuse('key gate', KEYS[2], arg_base .. '!use') end
  KEYS = { arg_base .. ':rules', arg_base .. ':c:', arg_base .. ':config' }
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
item_count = arg_uint(item_count, 1, 100)
if not item_count then return refuse('item_count', ARGV[arg_at], 'an integer from 1 to 100') end
arg_at = arg_at + 1
local item_rule, item_subject, item_lease = {}, {}, {}
for i = 1, item_count do
  local v = ARGV[arg_at]
  if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
    return refuse('item[' .. i .. '].rule', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
  end
  item_rule[i] = v
  v = ARGV[arg_at + 1]
  if not v or #v > 200 or not (arg_find(v, '^[%w._:/@+-]+$') or arg_label(v)) then
    return refuse('item[' .. i .. '].subject', v, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
  end
  item_subject[i] = v
  v = ARGV[arg_at + 2]
  if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
    return refuse('item[' .. i .. '].lease', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
  end
  item_lease[i] = v
  arg_at = arg_at + 3
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end

-- expire_in(key, ms): let a key expire by itself, unless the clock is that of a test.
local function expire_in(key, ms)
  if now_ms == 0 then redis.call('PEXPIRE', key, ms) end
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

-- open_rules(names): what a call begins with that needs these rules: the time (µs), and the rules as they are stored; or nil and the error
-- to return.
-- EARLY
local function open_rules(names) local rules, config = KEYS[1], KEYS[3]
  local row, now = redis.call('HMGET', config, 'layout_min', 'clock')
  if now_ms == 0 and row[2] == 'server' and (row[1] or 1) + 0 <= 1 then
    local time = redis.call('TIME')
    now = time[1] * 1000000 + time[2]
  else
    local ms, refused = read_clock(row[1], row[2])
    if not ms then return nil, refused end
    now = ms * 1000
  end
  return now, redis.call('HMGET', rules, unpack(names))  -- at most 100: items of a call
end

-- read_rule(stored): the algorithm, pace, burst, limit, period_ms, on_error, mode and version of a rule, as texts; nil: there is no such
-- rule.
-- EARLY
local function read_rule(stored)
  return string.match(stored or '', '^(%l+) (%d+) (%d+) (%d+) (%d+) (%l+) (%l+) (%d+)$')
end

local leases = KEYS[2]

local now, stored = open_rules(item_rule)
if not now then return stored end
local at_ms, items, lease_ms = math.floor(now / 1000), {}, {}
for i = 1, item_count do
  local algorithm, pace = read_rule(stored[i])
  if algorithm ~= 'concurrency' then
    return refuse('item[' .. i .. '].rule', item_rule[i], 'the name of a rule of concurrency that is stored in this namespace')
  end
  lease_ms[i] = pace + 0
end
for i = 1, item_count do
  local key = leases .. item_rule[i] .. '|' .. item_subject[i]
  local until_ms = redis.call('ZSCORE', key, item_lease[i])
  if until_ms and tonumber(until_ms) > at_ms then
    redis.call('ZADD', key, at_ms + lease_ms[i], item_lease[i])
    expire_in(key, 3600000)
    items[i] = { 'renewed', at_ms + lease_ms[i] }
  else
    items[i] = { 'gone' }
  end
end
return { 'ok', at_ms, items }
