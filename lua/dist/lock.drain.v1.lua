#!lua flags=allow-oom
-- generated from lua/lock/drain.v1.lua by lua/bundle.py; do not edit
-- lock.drain.v1: give no more permits of a resource until set_capacity. Permits in use stay until they are released.
-- Waiters for a permit learn it with their next poll.
--
-- DATA   config   hash           {base}:config
-- DATA   requests hash           {base}:requests
-- DATA   capacity hash           {base}:capacity
-- DATA   channel  prefix/channel {base}:channel: id
-- ARGV   resource  id
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN draining  now_ms:int
-- RETURN no_capacity now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   operate
-- REPLAY idempotent
-- FLAGS  allow-oom
-- COST   7 commands; at most 7 commands, 87 steps

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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{lock:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:lock:[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{lock:<name>}:config, <prefix>:{<slot>}:lock:<name>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. '!operate' then return refuse('key gate', KEYS[2], arg_base .. '!operate') end
  KEYS = { arg_base .. ':config', arg_base .. ':requests', arg_base .. ':capacity', arg_base .. ':channel:' }
end

local resource = ARGV[1]
if not resource or #resource > 200 or not arg_find(resource, '^[%w._:/@+-]+$') then
  return refuse('resource', resource, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
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

-- mirror_hint(whom, words): publish a hint on the plain channel of the same name, too, for clients that can only
-- SUBSCRIBE. PUBLISH reaches all nodes of a cluster and is expensive there. So it is only called if the setting
-- `mirror` is on. No other Lua file may use PUBLISH.
local function mirror_hint(whom, words) local channel = KEYS[4]
  redis.pcall('PUBLISH', channel .. whom, words)
end

-- close_domain(ctx): store the time, the counters and the changed requests, and publish the hints of this call.
-- LATE
local function close_domain(ctx) local requests, channel = KEYS[2], KEYS[4]
  local changes = { '#now', ctx.now_text, '#offset', ctx.offset, '#fence', string.format('%.0f', ctx.fence),
    '#waiting', ctx.waiting, '#due', ctx.due }
  for rid in pairs(ctx.changed or {}) do
    changes[#changes + 1] = rid
    changes[#changes + 1] = ctx.texts[rid]
  end
  for first = 1, #changes, 7000 do
    redis.call('HSET', requests, unpack(changes, first, math.min(first + 6999, #changes)))
  end
  if not ctx.exists then create_base() end
  for resource, words in pairs(ctx.hints or {}) do
    redis.pcall('SPUBLISH', channel .. resource, words)
    if ctx.settings_mirror then mirror_hint(resource, words) end
  end
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'mirror')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_mirror = row[3] == '1', offset = false, stepped = false, texts = false, fence = false, waiting = false, due = false }
end

-- open_domain(rids): open a call, and read what every call needs: the counters of the domain, the records of these
-- requests, and a time that never goes back (the offset adds what the server's clock has lost). Or nil and the error to
-- return.
local function open_domain(rids) local requests = KEYS[2]
  local ctx, refused = open()
  if refused then return nil, refused end
  local row = redis.call('HMGET', requests, '#now', '#offset', '#fence', '#waiting', '#due', unpack(rids))  -- at most 1,000: items
  local last, before = row[1] or 0, tonumber(row[2] or 0)
  local offset = math.max(before, last - ctx.now)
  if offset ~= 0 then
    ctx.now = ctx.now + offset
    ctx.now_text = string.format('%.0f', ctx.now)
  end
  local texts = { [rids[1] or ''] = row[6] }
  for i = 2, #rids do texts[rids[i]] = row[5 + i] end
  ctx.texts, ctx.offset, ctx.stepped = texts, offset, offset ~= before
  ctx.fence, ctx.waiting, ctx.due = row[3] or 0, (row[4] or 0) + 0, (row[5] or 0) + 0
  return ctx
end

-- read_capacity(ctx, resource): the permits of a resource and whether they may be granted; nil if it has no capacity.
local function read_capacity(ctx, resource) local capacity = KEYS[3]
  local max, status, silent_ms, seen_ms, used =
    string.match(redis.call('HGET', capacity, resource) or '', '^(%d+) (%l+) (%d+) (%d+) (%-?%d+)$')
  if not max then return nil end
  local silent = tonumber(silent_ms) > 0 and ctx.now - tonumber(seen_ms) > tonumber(silent_ms)
  return { max = tonumber(max), status = status, silent_ms = silent_ms, seen_ms = seen_ms, used = tonumber(used),
    open = status == 'active' and not silent, silent = silent }
end

-- write_capacity(resource, room): store what read_capacity reads.
local function write_capacity(resource, room) local capacity = KEYS[3]
  redis.call('HSET', capacity, resource, string.format('%.0f %s %s %s %.0f', room.max, room.status, room.silent_ms,
    room.seen_ms, room.used))
end

local ctx, refused = open_domain({})
if refused then return refused end
local room = read_capacity(ctx, resource)
if room then
  room.status = 'draining'
  write_capacity(resource, room)
  ctx.hints = { [resource] = 'draining:' .. resource }
end
close_domain(ctx)
return { room and 'draining' or 'no_capacity', ctx.now }
