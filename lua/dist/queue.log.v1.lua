#!lua flags=no-writes
-- generated from lua/queue/log.v1.lua by lua/bundle.py; do not edit
-- queue.log.v1: the last lines, at most 100, that the runs of a task have logged, the oldest first.
--
-- KEYS   config hash        {base}:config
-- KEYS   log    prefix/list {base}:log:   id
-- ARGV   id        id
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int lines:list(line)
-- EACH   line      line at_ms:int text:bytes
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   3 commands; at most 3 commands, 400 steps

local LAYOUT = 1
local BAND = 281474976710656
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

-- base_time(layout_min, clock): the time in ms, as a number and as text; or nil and the error to answer with, where
-- these scripts, or the clock that the call assumes, do not fit what is stored.
local function base_time(layout_min, clock)
  if tonumber(layout_min or LAYOUT) > LAYOUT then
    return nil, redis.error_reply('ADEQ_LAYOUT this data needs scripts of layout ' .. layout_min
      .. ' or newer, these are of layout ' .. LAYOUT .. ': upgrade this client')
  end
  if (clock == 'test') ~= (now_ms > 0) then
    return nil, redis.error_reply('ADEQ_CLOCK now_ms must be '
      .. (clock == 'test' and 'sent: this base was created with clock=test'
        or '0: this base was not created with clock=test'))
  end
  if now_ms > 0 then return now_ms, string.format('%.0f', now_ms) end
  local time = redis.call('TIME')
  local ms = math.floor(time[2] / 1000)
  return time[1] * 1000 + ms, string.format('%s%03d', time[1], ms)
end

-- open_queue(): what every call needs of the queue's settings, and the time; or nil and the error to answer with.
local function open_queue() local config = KEYS[1]
  local row = redis.call('HMGET', config, 'layout_min', 'clock', 'lease_ms', 'events_max', 'mode', 'finished_max', 'result_ms',
    'chains', 'schedules', 'limits', 'fair', 'fair_top', 'epoch', 'timeout_ms')
  local now, now_text = base_time(row[1], row[2])
  if not now then return nil, now_text end
  local ctx = {
    exists = row[1],
    now = now,
    now_text = now_text,
    lease_ms = tonumber(row[3] or 15000),
    events_max = row[4] or 100000,
    paused = row[5] == 'paused',
    draining = row[5] == 'draining',
    finished_max = tonumber(row[6] or 100000),
    result_ms = tonumber(row[7]),
    chains = row[8],
    schedules = row[9],
    limits = row[10],
    fair = (row[11] or '0') ~= '0' and tonumber(row[11]),
    fair_top = tonumber(row[12] or 0),
    epoch = tonumber(row[13] or 0),
    timeout_ms = row[14] and row[14] ~= '0' and tonumber(row[14]),
    ended = 0,
    told = 0,  -- of ends, by propagate_ends, while it sweeps
    work = 300,  -- about how many commands the call may still send for what is due on its way
  }
  if row[10] then
    ctx.limit, ctx.limited, ctx.in_line, ctx.victims, ctx.spared, ctx.timed, ctx.started = {}, {}, {}, {}, {}, {}, {}
    ctx.met = 0
    ctx.steps = 100  -- how many lines of limits a call looks at, and tasks of them it lets go, together
    ctx.rules_ms = tonumber(row[10])  -- when a limit of a kind was changed last
    ctx.full = BAND + math.max(now, ctx.rules_ms + 1)  -- the score of the line of a full limit that is looked at now
  end
  return ctx
end

local log = KEYS[2]

local ctx, refused = open_queue()
if refused then return refused end

local lines = {}
for i, entry in ipairs(redis.call('LRANGE', log .. id, -100, -1)) do  -- at most 100: lines that are kept
  local at_ms, text = string.match(entry, '^(%d+) (.*)$')
  lines[i] = { 'line', tonumber(at_ms), text }
end
return { 'ok', ctx.now, lines }
