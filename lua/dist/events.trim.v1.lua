#!lua flags=allow-oom
-- generated from lua/events/trim.v1.lua by lua/bundle.py; do not edit
-- events.trim.v1: delete events that are older than the setting, or than `before_ms`, and that all groups have acknowledged. It deletes
-- whole blocks of usually 100 events, at most 100 blocks, so a few old ones stay. `more` is 1 if another call may delete more. A group that
-- had no reader for `lapse_ms` holds none. `held_by`: the group that keeps older events.
--
-- DATA   config   hash        {base}:events:config
-- DATA   groups   zset        {base}:events:groups
-- DATA   group_at prefix/hash {base}:events:group:   name
-- DATA   unacked  prefix/zset {base}:events:unacked: name
-- DATA   home     hash        {base}:config
-- DATA   events   stream      {base}:events
-- ARGV   before_ms int 0..9000000000000 ?=0
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN ok        now_ms:int removed:int more:int held_by:text
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  group.lapsed
-- ROLE   operate
-- REPLAY goes_on
-- FLAGS  allow-oom
-- COST   6 commands, and 2 for each group; at most 340 commands, 1,500 steps

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
  KEYS = { arg_base .. ':events:config', arg_base .. ':events:groups', arg_base .. ':events:group:', arg_base .. ':events:unacked:', arg_base .. ':config', arg_base .. ':events' }
end

local before_ms = ARGV[1]
if before_ms == '' then
  before_ms = 0
else
  before_ms = arg_uint(before_ms, 0, 9000000000000)
  if not before_ms then return refuse('before_ms', ARGV[1], 'an integer from 0 to 9000000000000') end
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

-- create_base(clock): store the layout and the clock of a new base. The clock is `test` or `server` (the default).
local function create_base(clock) local config = KEYS[1]
  redis.call('HSET', config, 'layout', 1, 'layout_min', 1, 'clock', clock == 'test' and 'test' or 'server')
end

-- emit_group(ctx, event, name, detail): add an event about a group to the stream, if there is one; returns its id, or false. The next
-- event of the noun trims the stream to the bound of memory.
local function emit_group(ctx, event, name, detail) local events = KEYS[6]
  local entry = { 'event', event, 'timestamp', ctx.now_text, 'id', name }
  if detail ~= '' then entry[7], entry[8] = 'payload', detail end
  return redis.call('XADD', events, 'NOMKSTREAM', '*', unpack(entry))  -- at most 8: fields of an event
end

-- has_lapsed(ctx, own): whether no reader came for so long that the group holds no events.
local function has_lapsed(ctx, own)
  return own.lapsed == '1' or ctx.now - tonumber(own.read_ms) >= ctx.settings_lapse_ms
end

-- note_keep(ctx): store the noun's own setting of how long events are kept, if it has one, for reads. Returns how long that is.
local function note_keep(ctx) local config, home = KEYS[1], KEYS[5]
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

-- sweep_events(ctx, floor): delete events that are older than floor (ms), and not held by a group. It deletes
-- whole blocks, which costs almost nothing. Groups without a reader lapse first. Returns how many events were deleted, whether more may be
-- left, and which group holds the rest.
local function sweep_events(ctx, floor) local config, groups, group_at, unacked, events = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[6]
  local held_by = ''
  for _, name in ipairs(redis.call('ZRANGE', groups, 0, 99)) do  -- at most 100: groups
    local row = redis.call('HMGET', group_at .. name, 'last', 'read_ms', 'lapsed')
    local own = { last = row[1] or '0-0', read_ms = row[2] or '0', lapsed = row[3] }
    if has_lapsed(ctx, own) then
      if own.lapsed ~= '1' then
        redis.call('HSET', group_at .. name, 'lapsed', '1')
        emit_group(ctx, 'group.lapsed', name, '')
      end
    else
      local oldest = redis.call('ZRANGE', unacked .. name, 0, 0, 'WITHSCORES')[2]
      local from = tonumber(oldest or string.match(own.last, '^%d+'))
      if from < floor then floor, held_by = from, name end
    end
  end
  if floor <= 0 then return 0, false, held_by end
  local removed = redis.call('XTRIM', events, 'MINID', '~', string.format('%.0f', floor))  -- at most 100 blocks of 100 events
  if removed == 0 then redis.call('HSET', config, 'swept_ms', ctx.now_text) end
  return removed, removed > 0, held_by
end

local ctx, refused = open()
if refused then return refused end
if not ctx.exists then create_base() end
local keep_ms = note_keep(ctx)
local removed, more, held_by = sweep_events(ctx, before_ms > 0 and before_ms or ctx.now - keep_ms)
return { 'ok', ctx.now, removed, more and 1 or 0, held_by }
