#!lua flags=allow-oom
-- generated from lua/events/drop.v1.lua by lua/bundle.py; do not edit
-- events.drop.v1: drop groups. They hold no events any more, and what was delivered to them is forgotten.
--
-- DATA   config   hash        {base}:events:config
-- DATA   groups   zset        {base}:events:groups
-- DATA   group_at prefix/hash {base}:events:group:   name
-- DATA   pending  prefix/zset {base}:events:pending: name
-- DATA   unacked  prefix/zset {base}:events:unacked: name
-- DATA   events   stream      {base}:events
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- ITEM   group    name
-- GROUP  item     1..100
-- RETURN ok       now_ms:int items:list(item)
-- EACH   item     dropped
-- EACH   item     unknown
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  group.dropped
-- ROLE   operate
-- REPLAY state
-- FLAGS  allow-oom
-- COST   4 commands, and 3 for each group; at most 340 commands, 1,700 steps

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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+:[%w._@+-]+}):events:config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:[%w._@+-]+:[%w._@+-]+):events:config$') or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+:[%w._@+-]+/[%w._@+-]+}):events:config$') or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:[%w._@+-]+:[%w._@+-]+/[%w._@+-]+):events:config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{<noun>:<name>}:events:config, <prefix>:{<slot>}:<noun>:<name>:events:config, <prefix>:{<noun>:<name>/<tag>}:events:config, <prefix>:{<slot>}:<noun>:<name>/<tag>:events:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. '!events.operate' then return refuse('key gate', KEYS[2], arg_base .. '!events.operate') end
  KEYS = { arg_base .. ':events:config', arg_base .. ':events:groups', arg_base .. ':events:group:', arg_base .. ':events:pending:', arg_base .. ':events:unacked:', arg_base .. ':events' }
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
local item_group = {}
for i = 1, item_count do
  local v = ARGV[arg_at]
  if not v or #v > 100 or not arg_find(v, '^[%w._@+-]+$') then
    return refuse('item[' .. i .. '].group', v, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
  end
  item_group[i] = v
  arg_at = arg_at + 1
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end

-- emit_group(ctx, event, name, detail): add an event about a group to the stream, if there is one; returns its id, or false. The next
-- event of the noun trims the stream to the bound of memory.
local function emit_group(ctx, event, name, detail) local events = KEYS[6]
  local entry = { 'event', event, 'timestamp', ctx.now_text, 'id', name }
  if detail ~= '' then entry[7], entry[8] = 'payload', detail end
  return redis.call('XADD', events, 'NOMKSTREAM', '*', unpack(entry))  -- at most 8: fields of an event
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
  return { exists = row[1], now = now, now_text = now_text,  }
end

local config, groups, group_at, pending, unacked = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

local ctx, refused = open()
if refused then return refused end
local items, found = {}, false
for i, name in ipairs(item_group) do
  items[i] = { 'unknown' }
  if redis.call('ZREM', groups, name) == 1 then
    redis.call('UNLINK', group_at .. name, pending .. name, unacked .. name)
    emit_group(ctx, 'group.dropped', name, '')
    items[i], found = { 'dropped' }, true
  end
end
if found and redis.call('EXISTS', groups) == 0 then redis.call('HDEL', config, 'held_ms') end
return { 'ok', ctx.now, items }
