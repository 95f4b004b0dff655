#!lua flags=no-writes
-- generated from lua/queue/runs.v1.lua by lua/bundle.py; do not edit
-- queue.runs.v1: return the runs of a task, oldest first: at most the last 20 that ended without completing it, and then
-- the run that completed it or that goes on. `delivery` numbers the runs of a task from 1, so a larger first number says
-- how many are no longer known. `ended_ms` is 0 while the run goes on. The error is the last 1 KiB of the error; a sealed
-- error above 1 KiB is empty.
--
-- DATA   config     hash        {base}:config
-- DATA   running    hash        {base}:running
-- DATA   task       prefix/hash {base}:task:       id
-- DATA   ended_runs prefix/list {base}:ended_runs: id
-- DATA   finished   zset        {base}:finished
-- ARGV   id        id
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int runs:list(run)
-- EACH   run       run outcome:text delivery:int attempt:int fence:int worker:id started_ms:int ended_ms:int reason:text error:bytes
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   5 commands; at most 5 commands, 200 steps

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
  if KEYS[2] ~= arg_base .. ':nowhere' then return refuse('key nowhere', KEYS[2], arg_base .. ':nowhere') end
  KEYS = { arg_base .. ':config', arg_base .. ':running', arg_base .. ':task:', arg_base .. ':ended_runs:', arg_base .. ':finished' }
end

local id = ARGV[1]
if not id or #id > 200 or not arg_find(id, '^[%w._:/@+-]+$') then
  return refuse('id', id, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local now_ms = ARGV[2]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9007199254740991)
  if not now_ms then return refuse('now_ms', ARGV[2], 'an integer from 0 to 9007199254740991') end
end
if #ARGV ~= 2 then
  return redis.error_reply('ADEQ_ARG expected 2 arguments, got ' .. #ARGV)
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text,  }
end

-- read_lease(value): the parts of an entry of `running`, or nil if there is none. The entry is two halves with a bar
-- between: '<token> <score> <lane>[ ties][ limits=<keys>][ trace=<trace>][ cancel]', and what the record keeps once the lease has ended, `ran`:
-- '<started_ms> <attempt> <delivery> <crashes> <fence> <worker>'.
local function read_lease(value)
  if not value then return nil end
  local token, score, lane, flagged = string.match(value, '^(%S+) (%d+) ([^ |]+)()')
  local bar = string.find(value, '|', flagged, true)  -- plain searches: the flags may have 5 KB
  local flags, ran = string.sub(value, flagged, bar - 1), string.sub(value, bar + 1)
  local traced = string.find(flags, ' trace=', 1, true)
  local started_ms, attempt, delivery, crashes, fence, worker =
    string.match(ran, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%S+)$')
  return {
    token = token, score = score, lane = lane, tied = string.find(flags, ' ties', 1, true),
    cancelling = string.find(flags, ' cancel', 1, true), ran = ran, started_ms = tonumber(started_ms),
    attempt = tonumber(attempt), delivery = tonumber(delivery), crashes = tonumber(crashes), fence = tonumber(fence),
    worker = worker, trace = traced and string.match(flags, '^%S+', traced + 7) or nil,
  }
end

local running, task, ended_runs, finished = KEYS[2], KEYS[3], KEYS[4], KEYS[5]

local ctx, refused = open()
if refused then return refused end

local found = {}
local function add(ran, ended_ms, outcome, reason, error)
  local started_ms, attempt, delivery, _, fence, worker = string.match(ran, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%S+)$')
  found[#found + 1] = { 'run', outcome, tonumber(delivery), tonumber(attempt), tonumber(fence), worker,
    tonumber(started_ms), tonumber(ended_ms), reason, error }
end
for _, entry in ipairs(redis.call('LRANGE', ended_runs .. id, -20, -1)) do  -- at most 20: runs that are kept
  add(string.match(entry, '^(%d+ %d+ %d+ %d+ %d+ %S+) (%d+) (%l+) (%S*) (.*)$'))
end
local lease = read_lease(redis.call('HGET', running, id))
local row = redis.call('HMGET', task .. id, 'ran', 'settled')
local how = string.match(row[2] or '', '^%S+ (%S+)')
if lease then
  add(lease.ran, 0, 'running', '', '')
elseif row[1] and (how == 'completed' or how == 'result_dropped') then
  add(row[1], redis.call('ZSCORE', finished, id) or 0, 'completed', '', '')
end
return { 'ok', ctx.now, found }
