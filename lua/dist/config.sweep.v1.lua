#!lua flags=allow-oom
-- generated from lua/config/sweep.v1.lua by lua/bundle.py; do not edit
-- config.sweep.v1: delete what is left of names that were removed long ago, at most `limit` of them. Each `set` deletes some, so this is for
-- a namespace that nobody changes.
--
-- DATA   value    prefix/hash {base}:value:   id
-- DATA   history  prefix/list {base}:history: id
-- DATA   changed  zset        {base}:changed
-- DATA   removed  zset        {base}:removed
-- DATA   revs     zset        {base}:revs
-- DATA   config   hash        {base}:config
-- DATA   once     hash        {base}:once
-- DATA   once_due zset        {base}:once:due
-- ARGV   limit    int 1..1000   ?=100
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int forgotten:int more:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   operate
-- REPLAY goes_on
-- FLAGS  allow-oom
-- COST   4 commands, and 2 for each name; at most 2,300 commands, 4,500 steps

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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{config:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:config:[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{config:<name>}:config, <prefix>:{<slot>}:config:<name>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. '!operate' then return refuse('key gate', KEYS[2], arg_base .. '!operate') end
  KEYS = { arg_base .. ':value:', arg_base .. ':history:', arg_base .. ':changed', arg_base .. ':removed', arg_base .. ':revs', arg_base .. ':config', arg_base .. ':once', arg_base .. ':once:due' }
end

local limit = ARGV[1]
if limit == '' then
  limit = 100
else
  limit = arg_uint(limit, 1, 1000)
  if not limit then return refuse('limit', ARGV[1], 'an integer from 1 to 1000') end
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

-- oldest_beyond(ctx, set, keep_ms, max, limit): the oldest members of a set, which is sorted by times (ms), beyond an age (nil: none) and
-- a number, at most limit: their ids and their times, in lists.
local function oldest_beyond(ctx, set, keep_ms, max, limit)
  local found, excess = {}, math.min(redis.call('ZCARD', set) - max, limit)
  if keep_ms then
    found = redis.call('ZRANGE', set, '-inf', ctx.now - keep_ms, 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
  end
  if 2 * excess > #found then found = redis.call('ZRANGE', set, 0, excess - 1, 'WITHSCORES') end
  local ids, since = {}, {}
  for i = 1, #found / 2 do ids[i], since[i] = found[2 * i - 1], tonumber(found[2 * i]) end
  return ids, since
end

-- forget_removed(ctx, limit): delete what is left of names that were removed long ago, or of the oldest if there are more than `names_max`;
-- at most limit. Returns the number. Who has read an older rev has to read all again.
local function forget_removed(ctx, limit) local value, history, changed, removed, revs = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
  local names = oldest_beyond(ctx, removed, ctx.settings_removed_ms, ctx.settings_names_max, limit)
  if #names == 0 then return 0 end
  local newest = 0
  for _, name in ipairs(names) do
    newest = math.max(newest, tonumber(redis.call('ZSCORE', changed, name) or 0))
    redis.call('UNLINK', value .. name, history .. name)
  end
  redis.call('ZREM', changed, unpack(names))  -- at most 1,000: limit
  redis.call('ZREM', removed, unpack(names))
  redis.call('ZREMRANGEBYSCORE', revs, '-inf', string.format('(%.0f', newest))
  return #names
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
local function open(clock, row) local config = KEYS[6]
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'names_max', 'removed_ms')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_names_max = tonumber(row[3] or 10000), settings_removed_ms = tonumber(row[4] or 86400000) }
end

-- sweep_once(ctx, limit): delete expired fields of `once`, at most limit. Returns the number.
local function sweep_once(ctx, limit) local once, once_due = KEYS[7], KEYS[8]
  local fields = redis.call('ZRANGE', once_due, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, limit)
  if #fields == 0 then return 0 end
  -- at most 4,010: limit, as add_tasks gives it for 1,000 items
  redis.call('ZREM', once_due, unpack(fields))
  redis.call('HDEL', once, unpack(fields))
  return #fields
end

local ctx, refused = open()
if refused then return refused end
local forgotten = forget_removed(ctx, limit)
sweep_once(ctx, 1000)
return { 'ok', ctx.now, forgotten, forgotten == limit and 1 or 0 }
