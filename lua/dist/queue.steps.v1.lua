#!lua flags=no-writes
-- generated from lua/queue/steps.v1.lua by lua/bundle.py; do not edit
-- queue.steps.v1: return the stored steps of a task, in the order in which they were stored, with the fence of the run
-- that stored each. The value of a sleep is its due time (ms).
--
-- DATA   config hash        {base}:config
-- DATA   steps  prefix/hash {base}:steps: id
-- ARGV   id        id
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int steps:list(step)
-- EACH   step      step name:label number:int kind:text at_ms:int fence:int value:bytes
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   3 commands; at most 4 commands, 430,000 steps

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
  KEYS = { arg_base .. ':config', arg_base .. ':steps:' }
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

-- step_parts(entry): the parts of an entry of `steps:<id>`; nil if there is none.
local function step_parts(entry)
  local place, kind, at_ms, fence, from = string.match(entry or '', '^(%d+) (%l+) (%d+) (%d+)\n()')
  if not place then return nil end
  return {
    place = tonumber(place), kind = kind, at_ms = tonumber(at_ms), fence = tonumber(fence), value = string.sub(entry, from),
  }
end

-- steps_in_order(id): the stored steps of a task, in the order in which they were stored: their names, and their parts as
-- step_parts reads them. If the server has evicted steps, those that are left.
local function steps_in_order(id) local steps = KEYS[2]
  local flat, found = redis.call('HGETALL', steps .. id), {}  -- at most 20,000: two for each of steps_max
  for f = 1, #flat, 2 do
    local step = step_parts(flat[f + 1])
    step.name = flat[f]
    found[#found + 1] = step
  end
  table.sort(found, function(a, b) return a.place < b.place end)
  return found
end

local ctx, refused = open()
if refused then return refused end

local answers = {}
for i, step in ipairs(steps_in_order(id)) do
  local name, number = string.match(step.name, '^(.*)#(%d+)$')
  answers[i] = { 'step', name or step.name, tonumber(number or 1), step.kind, step.at_ms, step.fence, step.value }
end
return { 'ok', ctx.now, answers }
