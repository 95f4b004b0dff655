#!lua
-- generated from lua/queue/snapshot.v1.lua by lua/bundle.py; do not edit
-- queue.snapshot.v1: add the totals and the numbers of tasks to the history, once a minute. Claims of workers also do this; the call is
-- for queues without claims. taken: 0 if this minute has a snapshot. The minutes of a day are kept, and the hours of 30 days.
--
-- DATA   config   hash        {base}:config
-- DATA   leases   zset        {base}:leases
-- DATA   ready    prefix/zset {base}:ready:   lane
-- DATA   lanes    set         {base}:lanes
-- DATA   delayed  zset        {base}:delayed
-- DATA   blocked  zset        {base}:blocked
-- DATA   dead     zset        {base}:dead
-- DATA   workers  zset        {base}:workers
-- DATA   history  prefix/list {base}:history: name
-- DATA   counters hash        {base}:counters
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int taken:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   work
-- REPLAY state
-- COST   14 commands, 1 more for each of up to 200 lanes; at most 240 commands, 310 steps

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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{queue:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:queue:[%w._@+-]+):config$') or string.match(KEYS[1], '^([%w._@+-]+:{queue:[%w._@+-]+/[%w._@+-]+}):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{queue:<name>}:config, <prefix>:{<slot>}:queue:<name>:config, <prefix>:{queue:<name>/<tag>}:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. '!work' then return refuse('key gate', KEYS[2], arg_base .. '!work') end
  KEYS = { arg_base .. ':config', arg_base .. ':leases', arg_base .. ':ready:', arg_base .. ':lanes', arg_base .. ':delayed', arg_base .. ':blocked', arg_base .. ':dead', arg_base .. ':workers', arg_base .. ':history:', arg_base .. ':counters' }
end

local now_ms = ARGV[1]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9007199254740991)
  if not now_ms then return refuse('now_ms', ARGV[1], 'an integer from 0 to 9007199254740991') end
end
if #ARGV ~= 1 then
  return redis.error_reply('ADEQ_ARG expected 1 arguments, got ' .. #ARGV)
end

-- read_clock(layout_min, clock, chosen): the time in ms, as a number and as text; or nil and the error to return, if
-- the layout of these scripts or the clock of the call does not fit the stored data. chosen: the clock of a base that
-- this call may create.
local function read_clock(layout_min, clock, chosen)
  if tonumber(layout_min or 2) > 2 then
    return nil, redis.error_reply('ADEQ_LAYOUT this data needs scripts of layout ' .. layout_min
      .. ' or newer, these are of layout ' .. 2 .. ': upgrade this client')
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'history_ms')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_history_ms = tonumber(row[3] or 0) }
end

-- take_snapshot(ctx): add the totals and the numbers of tasks to the minutes of the history, and the first of an hour also to its
-- hours. ctx.history_ms is the minute of the last snapshot.
local function take_snapshot(ctx) local config, leases, ready, lanes, delayed, blocked, dead, workers, history, counters = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
  local minute_ms = ctx.now - ctx.now % 60000
  -- at most 200: totals and buckets
  local totals, found = redis.call('HGETALL', counters), { claimed = 0, completed = 0 }
  for i = 1, #totals, 2 do
    local what = string.match(totals[i], '^(%l+)_ms:')
    if what == 'wait' then found.claimed = found.claimed + totals[i + 1]
    elseif what == 'run' then found.completed = found.completed + totals[i + 1]
    else found[totals[i]] = totals[i + 1]
    end
  end
  local names, in_line, numbers = redis.call('SRANDMEMBER', lanes, 201), 0, { string.format('%.0f', minute_ms) }
  for i = 1, #names <= 200 and #names or 0 do in_line = in_line + redis.call('ZCARD', ready .. names[i]) end
  for _, name in ipairs({ 'enqueued', 'claimed', 'completed', 'retried', 'dead', 'cancelled', 'stalled', 'wait_ms_sum', 'run_ms_sum' }) do
    numbers[#numbers + 1] = string.format('%.0f', found[name] or 0)
  end
  numbers[#numbers + 1] = #names <= 200 and in_line or -1
  for _, set in ipairs({ delayed, blocked, leases, dead, workers }) do numbers[#numbers + 1] = redis.call('ZCARD', set) end
  local text = table.concat(numbers, ' ')
  redis.call('RPUSH', history .. 'minutes', text)
  redis.call('LTRIM', history .. 'minutes', -1440, -1)
  if math.floor(minute_ms / 3600000) ~= math.floor(ctx.history_ms / 3600000) then
    redis.call('RPUSH', history .. 'hours', text)
    redis.call('LTRIM', history .. 'hours', -720, -1)
  end
  redis.call('HSET', config, 'history_ms', string.format('%.0f', minute_ms))
end

local ctx, refused = open()
if refused then return refused end
ctx.history_ms = ctx.settings_history_ms
if not ctx.exists or (ctx.now < ctx.history_ms + 60000 and ctx.now >= ctx.history_ms - 3600000) then return { 'ok', ctx.now, 0 } end
take_snapshot(ctx)
return { 'ok', ctx.now, 1 }
