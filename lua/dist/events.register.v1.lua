#!lua
-- generated from lua/events/register.v1.lua by lua/bundle.py; do not edit
-- events.register.v1: register a group that reads the events of this base. It begins with the oldest event that there is;
-- with the next one (`now`); or with the very first one (`first`), so that what has been trimmed is a gap. From now on no
-- event is trimmed by age before the group has acknowledged it. A group that exists goes on where it is. create: register it
-- even if nothing is stored under the base yet. The group then gets every event from the very first one on.
--
-- DATA   config   hash        {base}:events:config
-- DATA   groups   zset        {base}:events:groups
-- DATA   group_at prefix/hash {base}:events:group: name
-- DATA   home     hash        {base}:config
-- DATA   events   stream      {base}:events
-- ARGV   group    name
-- ARGV   start    enum oldest|now|first ?=oldest
-- ARGV   create   bool                ?=0
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN registered now_ms:int
-- RETURN exists   now_ms:int
-- RETURN full     now_ms:int
-- RETURN missing  now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  group.registered
-- ROLE   operate
-- REPLAY state
-- COST   10 commands; at most 13 commands, 96 steps

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
  KEYS = { arg_base .. ':events:config', arg_base .. ':events:groups', arg_base .. ':events:group:', arg_base .. ':config', arg_base .. ':events' }
end

local group = ARGV[1]
if not group or #group > 100 or not arg_find(group, '^[%w._@+-]+$') then
  return refuse('group', group, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
end
local start = ARGV[2]
if start == '' then
  start = 'oldest'
elseif start ~= 'oldest' and start ~= 'now' and start ~= 'first' then
  return refuse('start', start, 'one of oldest, now, first')
end
local create = ARGV[3]
if create ~= '0' and create ~= '1' and create ~= '' then
  return refuse('create', create, '0 or 1')
end
create = create == '1'
local now_ms = ARGV[4]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[4], 'an integer from 0 to 9000000000000') end
end
if #ARGV ~= 4 then
  return redis.error_reply('ADEQ_ARG expected 4 arguments, got ' .. #ARGV)
end

-- create_base(clock): store the layout and the clock of a new base. The clock is `test` or `server` (the default).
local function create_base(clock) local config = KEYS[1]
  redis.call('HSET', config, 'layout', 1, 'layout_min', 1, 'clock', clock == 'test' and 'test' or 'server')
end

-- emit_group(ctx, event, name, detail): add an event about a group to the stream, if there is one; returns its id, or false. The next
-- event of the noun trims the stream to the bound of memory.
local function emit_group(ctx, event, name, detail) local events = KEYS[5]
  local entry = { 'event', event, 'timestamp', ctx.now_text, 'id', name }
  if detail ~= '' then entry[7], entry[8] = 'payload', detail end
  return redis.call('XADD', events, 'NOMKSTREAM', '*', unpack(entry))  -- at most 8: fields of an event
end

-- hold_events(ctx, lapse_ms): note that a group may hold events until it lapses. Until then the noun does not trim them by age: reads do.
local function hold_events(ctx, lapse_ms) local config = KEYS[1]
  redis.call('HSET', config, 'held_ms', string.format('%.0f', ctx.now + lapse_ms))
end

-- look_stream(): the stream of the events: `added` (how many were ever added), `length`, `removed` (how many are gone again), and the ids of
-- its `first` and `last` event; 0-0 where there is none.
local function look_stream() local events = KEYS[5]
  if redis.call('EXISTS', events) == 0 then return { added = 0, length = 0, removed = 0, first = '0-0', last = '0-0' } end
  local found, info = {}, redis.call('XINFO', 'STREAM', events)
  for i = 1, #info, 2 do found[info[i]] = info[i + 1] end
  local added, length = found['entries-added'], found['length']
  return {
    added = added, length = length, removed = math.max(0, added - length), first = found['recorded-first-entry-id'],
    last = found['last-generated-id'],
  }
end

-- note_keep(ctx): store the noun's own setting of how long events are kept, if it has one, for reads. Returns how long that is.
local function note_keep(ctx) local config, home = KEYS[1], KEYS[4]
  local keep_ms = tonumber(redis.call('HGET', home, 'events_keep_ms') or 0)
  if keep_ms ~= ctx.settings_noun_keep_ms then redis.call('HSET', config, 'noun_keep_ms', keep_ms) end
  return keep_ms > 0 and keep_ms or ctx.settings_keep_ms
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'keep_ms', 'lapse_ms', 'noun_keep_ms')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_keep_ms = tonumber(row[3] or 604800000), settings_lapse_ms = tonumber(row[4] or 604800000), settings_noun_keep_ms = tonumber(row[5] or 0) }
end

local groups, group_at, home = KEYS[2], KEYS[3], KEYS[4]

local ctx, refused = open()
if refused then return refused end
local known = redis.call('ZSCORE', groups, group)
if known then return { 'exists', ctx.now } end
if not create and redis.call('EXISTS', home) == 0 then return { 'missing', ctx.now } end
local number = redis.call('ZCARD', groups)
if number >= 100 then return { 'full', ctx.now } end

if not ctx.exists then create_base() end
note_keep(ctx)
local stream = look_stream()
local last, seen = '0-0', stream.removed
if start == 'now' then last, seen = stream.last, stream.added end
if start == 'first' then seen = 0 end
redis.call('ZADD', groups, ctx.now_text, group)
redis.call('HSET', group_at .. group, 'last', last, 'seen', seen, 'read_ms', ctx.now_text)
hold_events(ctx, ctx.settings_lapse_ms)
emit_group(ctx, 'group.registered', group, '')
return { 'registered', ctx.now }
