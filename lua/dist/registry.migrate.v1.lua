#!lua flags=allow-oom
-- generated from lua/kernel/scripts/migrate.v1.lua by lua/bundle.py; do not edit
-- registry.migrate.v1: from now on, write the stored data of a registry in the layout of these scripts, and refuse
-- older scripts. Stored data is read in either form until all of it is rewritten, which `done` notes. If nothing
-- is stored, or the layout is not older, nothing changes. Returns the layout, and the layout that all data has at
-- least; 0 if nothing is stored.
--
-- DATA   config hash {base}:config
-- ARGV   done      bool          ?=0
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN ok        now_ms:int layout:int rewritten:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   operate
-- REPLAY idempotent
-- FLAGS  allow-oom
-- COST   3 commands; at most 4 commands, 84 steps

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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{registry:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:registry:[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{registry:<name>}:config, <prefix>:{<slot>}:registry:<name>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. '!operate' then return refuse('key gate', KEYS[2], arg_base .. '!operate') end
  KEYS = { arg_base .. ':config' }
end

local done = ARGV[1]
if done ~= '0' and done ~= '1' and done ~= '' then
  return refuse('done', done, '0 or 1')
end
done = done == '1'
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

-- raise_layout(done): mark the data as written with the layout of these scripts, so that older scripts are refused.
-- Returns the layout; the layout that all data has by now (0 and 0 if nothing is stored); and the layout before, if it
-- was raised. done: all stored data is rewritten.
local function raise_layout(done) local config = KEYS[1]
  local row = redis.call('HMGET', config, 'layout', 'rewritten')
  local before = row[1]
  if not before then return 0, 0 end
  local layout, rewritten = tonumber(before), tonumber(row[2] or before)
  if layout < 1 then
    redis.call('HSET', config, 'layout_min', 1, 'layout', 1, 'rewritten', rewritten)
    return 1, rewritten, before
  end
  if done and rewritten < 1 then
    redis.call('HSET', config, 'rewritten', 1)
    rewritten = 1
  end
  return layout, rewritten
end

local ctx, refused = open()
if refused then return refused end
local layout, rewritten = raise_layout(done)
return { 'ok', ctx.now, layout, rewritten }
