#!lua flags=no-writes
-- generated from lua/queue/history.v1.lua by lua/bundle.py; do not edit
-- queue.history.v1: return the snapshots of a queue since a time, oldest first: one for each minute of the last day, or one for each
-- hour of the last 30 days. If there are `limit` of them, ask again for those after the last one. Those of a clock that was set back are left out. enqueued to run_ms_sum are totals;
-- ready to workers are how many there were. ready is -1 if the tasks were in more than 200 lanes; buried are dead tasks.
--
-- DATA   config  hash        {base}:config
-- DATA   history prefix/list {base}:history: name
-- ARGV   series    enum minutes|hours
-- ARGV   since_ms  int 0..       ?=0
-- ARGV   limit     int 1..1000   ?=1000
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      snapshot at_ms:int enqueued:int claimed:int completed:int retried:int dead:int cancelled:int stalled:int wait_ms_sum:int run_ms_sum:int ready:int delayed:int blocked:int running:int buried:int workers:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   4 commands, O(n); at most 3 commands, 24,000 steps

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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{queue:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:queue:[%w._@+-]+):config$') or string.match(KEYS[1], '^([%w._@+-]+:{queue:[%w._@+-]+/[%w._@+-]+}):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{queue:<name>}:config, <prefix>:{<slot>}:queue:<name>:config, <prefix>:{queue:<name>/<tag>}:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. ':nowhere' then return refuse('key nowhere', KEYS[2], arg_base .. ':nowhere') end
  KEYS = { arg_base .. ':config', arg_base .. ':history:' }
end

local series = ARGV[1]
if series ~= 'minutes' and series ~= 'hours' then
  return refuse('series', series, 'one of minutes, hours')
end
local since_ms = ARGV[2]
if since_ms == '' then
  since_ms = 0
else
  since_ms = arg_uint(since_ms, 0, 9007199254740991)
  if not since_ms then return refuse('since_ms', ARGV[2], 'an integer from 0 to 9007199254740991') end
end
local limit = ARGV[3]
if limit == '' then
  limit = 1000
else
  limit = arg_uint(limit, 1, 1000)
  if not limit then return refuse('limit', ARGV[3], 'an integer from 1 to 1000') end
end
local now_ms = ARGV[4]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9007199254740991)
  if not now_ms then return refuse('now_ms', ARGV[4], 'an integer from 0 to 9007199254740991') end
end
if #ARGV ~= 4 then
  return redis.error_reply('ADEQ_ARG expected 4 arguments, got ' .. #ARGV)
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

local history = KEYS[2]

local ctx, refused = open()
if refused then return refused end
local answers = {}
for _, text in ipairs(redis.call('LRANGE', history .. series, 0, 1439)) do
  if #answers == limit then break end
  local row = {}
  for number in string.gmatch(text, '%S+') do row[#row + 1] = tonumber(number) end
  if row[1] >= since_ms and row[1] <= ctx.now then answers[#answers + 1] = { 'snapshot', unpack(row, 1, 16) } end  -- at most 16: numbers of a snapshot
end
return { 'ok', ctx.now, answers }
