#!lua flags=no-writes
-- generated from lua/events/groups.v1.lua by lua/bundle.py; do not edit
-- events.groups.v1: all groups of an event stream, and the stream itself: how many events it holds, the first and the last of them.
--
-- DATA   config   hash        {base}:events:config
-- DATA   groups   zset        {base}:events:groups
-- DATA   group_at prefix/hash {base}:events:group:   name
-- DATA   pending  prefix/zset {base}:events:pending: name
-- DATA   unacked  prefix/zset {base}:events:unacked: name
-- DATA   events   stream      {base}:events
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int length:int first:text last:text items:list(item)
-- EACH   item     group name:name about:pairs(group)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   5 commands, and 3 for each group; at most 450 commands, 2,300 steps

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
  if KEYS[2] ~= arg_base .. ':events:nowhere' then return refuse('key nowhere', KEYS[2], arg_base .. ':events:nowhere') end
  KEYS = { arg_base .. ':events:config', arg_base .. ':events:groups', arg_base .. ':events:group:', arg_base .. ':events:pending:', arg_base .. ':events:unacked:', arg_base .. ':events' }
end

local now_ms = ARGV[1]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[1], 'an integer from 0 to 9000000000000') end
end
if #ARGV ~= 1 then
  return redis.error_reply('ADEQ_ARG expected 1 arguments, got ' .. #ARGV)
end

-- has_lapsed(ctx, own): whether no reader came for so long that the group holds no events.
local function has_lapsed(ctx, own)
  return own.lapsed == '1' or ctx.now - tonumber(own.read_ms) >= ctx.settings_lapse_ms
end

-- load_group(name): a registered group, or nil.
local function load_group(name) local group_at = KEYS[3]
  local row = redis.call('HMGET', group_at .. name, 'last', 'seen', 'read_ms', 'lapsed', 'lost', 'gap', 'gap_from', 'gap_to', 'gap_lost')
  if not row[1] then return nil end
  return {
    last = row[1], seen = tonumber(row[2]), read_ms = row[3], lapsed = row[4], lost = tonumber(row[5] or 0), gap = tonumber(row[6] or 0),
    gap_from = row[7] or '', gap_to = row[8] or '', gap_lost = tonumber(row[9] or 0),
  }
end

-- look_stream(): the stream of the events: `added` (how many were ever added), `length`, `removed` (how many are gone again), and the ids of
-- its `first` and `last` event; 0-0 where there is none.
local function look_stream() local events = KEYS[6]
  if redis.call('EXISTS', events) == 0 then return { added = 0, length = 0, removed = 0, first = '0-0', last = '0-0' } end
  local found, info = {}, redis.call('XINFO', 'STREAM', events)
  for i = 1, #info, 2 do found[info[i]] = info[i + 1] end
  local added, length = found['entries-added'], found['length']
  return {
    added = added, length = length, removed = math.max(0, added - length), first = found['recorded-first-entry-id'],
    last = found['last-generated-id'],
  }
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'lapse_ms')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_lapse_ms = tonumber(row[3] or 604800000) }
end

local groups, pending, unacked = KEYS[2], KEYS[4], KEYS[5]

local ctx, refused = open()
if refused then return refused end
local stream, items = look_stream(), {}
for i, name in ipairs(redis.call('ZRANGE', groups, 0, 99)) do  -- at most 100: groups
  local own = load_group(name) or { last = '0-0', seen = 0, read_ms = '0', lost = 0, gap = 0, gap_from = '', gap_to = '', gap_lost = 0 }
  local oldest = redis.call('ZRANGE', unacked .. name, 0, 0, 'WITHSCORES')
  local missed = math.max(0, stream.removed - own.seen)
  items[i] = { 'group', name, {
    'registered_ms', redis.call('ZSCORE', groups, name), 'read_ms', own.read_ms, 'last', own.last,
    'lag', string.format('%.0f', math.max(0, stream.added - own.seen - missed)),
    'pending', string.format('%.0f', redis.call('ZCARD', pending .. name)), 'oldest_ms', oldest[2] or '0',
    'lapsed', has_lapsed(ctx, own) and '1' or '0', 'lost', string.format('%.0f', own.lost),
    'gap', string.format('%.0f', own.gap_from ~= '' and own.gap or 0), 'gap_from', own.gap_from, 'gap_to', own.gap_to,
    'gap_lost', string.format('%.0f', own.gap_lost), 'missed', string.format('%.0f', missed),
  } }
end
return { 'ok', ctx.now, stream.length, stream.first, stream.last, items }
