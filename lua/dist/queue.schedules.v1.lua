#!lua flags=no-writes
-- generated from lua/queue/schedules.v1.lua by lua/bundle.py; do not edit
-- queue.schedules.v1: return a page of the schedules: all by next due time, those without one last; or, with `due`, the
-- due ones; or the one with a name. Payloads are returned for due and named schedules. `cursor` is the cursor of the
-- last page, '' at first; an empty cursor in the answer means that this was the last page. A schedule that fires
-- meanwhile may come twice, and one that is resumed may be missing. A page stops before 4 MiB.
--
-- DATA   config    hash        {base}:config
-- DATA   schedules zset        {base}:schedules
-- DATA   schedule  prefix/hash {base}:schedule: name
-- ARGV   name      name          ?=
-- ARGV   due       bool          ?=0
-- ARGV   cursor    bytes 0..128  ?=
-- ARGV   limit     int 1..200    ?=100
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int cursor:text items:list(item)
-- EACH   item      found name:name record:pairs(schedule) payload:bytes
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   3 + n commands if they are due, otherwise 3 + 2n, 2 more on a page that follows another, O(n log m); at most 450 commands, 17,000 steps

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
  KEYS = { arg_base .. ':config', arg_base .. ':schedules', arg_base .. ':schedule:' }
end

local name = ARGV[1]
if name ~= '' and (not name or #name > 100 or not arg_find(name, '^[%w._@+-]+$')) then
  return refuse('name', name, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
end
local due = ARGV[2]
if due ~= '0' and due ~= '1' and due ~= '' then
  return refuse('due', due, '0 or 1')
end
due = due == '1'
local cursor = ARGV[3]
if not cursor or #cursor > 128 then
  return refuse('cursor', cursor and #cursor, '0 to 128 bytes long')
end
local limit = ARGV[4]
if limit == '' then
  limit = 100
else
  limit = arg_uint(limit, 1, 200)
  if not limit then return refuse('limit', ARGV[4], 'an integer from 1 to 200') end
end
local now_ms = ARGV[5]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9007199254740991)
  if not now_ms then return refuse('now_ms', ARGV[5], 'an integer from 0 to 9007199254740991') end
end
if #ARGV ~= 5 then
  return redis.error_reply('ADEQ_ARG expected 5 arguments, got ' .. #ARGV)
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

-- rank_after(set, score, id): the number of members up to (score, id), even if this member was removed. Members with
-- equal scores are sorted by their bytes.
local function rank_after(set, score, id)
  if redis.call('ZSCORE', set, id) == score then return redis.call('ZRANK', set, id) + 1 end
  local low, high = redis.call('ZCOUNT', set, '-inf', '(' .. score), redis.call('ZCOUNT', set, '-inf', score)
  while low < high do  -- at most 53: halvings
    local middle = math.floor((low + high) / 2)
    local member, at = redis.call('ZRANGE', set, middle, middle)[1], 1
    -- at most 200: bytes of an id
    while string.byte(member, at) and string.byte(member, at) == string.byte(id, at) do at = at + 1 end
    if (string.byte(member, at) or 0) < (string.byte(id, at) or 0) then low = middle + 1 else high = middle end
  end
  return low
end

local schedules, schedule = KEYS[2], KEYS[3]

local ctx, refused = open()
if refused then return refused end
local last_score, last_name = string.match(cursor, '^(%d+) (%S+)$')
if cursor ~= '' and not last_name then return refuse('cursor', cursor, 'empty, or what the page before answered') end

local page = { name, '' }
if name == '' then
  local start = last_name and rank_after(schedules, last_score, last_name) or 0
  page = redis.call('ZRANGE', schedules, start, start + limit - 1, 'WITHSCORES')
end
-- Payloads that are not shown are not read: they may be large.
local function read(key)
  if due or name ~= '' then return redis.call('HGETALL', key) end  -- at most 30: fields of a schedule
  local flat, names = {}, {}
  for _, field in ipairs(redis.call('HKEYS', key)) do  -- at most 30: fields of a schedule
    if field ~= 'payload' then names[#names + 1] = field end
  end
  -- at most 30: fields of a schedule
  for i, value in ipairs(names[1] and redis.call('HMGET', key, unpack(names)) or {}) do flat[2 * i - 1], flat[2 * i] = names[i], value end
  return flat
end
local answers, bytes, at = {}, 0, 1
while page[at] do  -- at most 200: limit
  if due and name == '' and tonumber(page[at + 1]) > ctx.now then return { 'ok', ctx.now, '', answers } end
  local fields, record, data = read(schedule .. page[at]), {}, ''
  for i = 1, #fields, 2 do
    if fields[i] ~= 'payload' and fields[i] ~= 'seed' then
      record[#record + 1], record[#record + 2] = fields[i], fields[i + 1]
      bytes = bytes + #fields[i + 1]
    elseif fields[i] == 'payload' then
      data = fields[i + 1]
      bytes = bytes + #data
    end
  end
  if bytes > 4194304 then break end
  if #record > 0 then answers[#answers + 1] = { 'found', page[at], record, data } end
  at = at + 2
end
local more = name == '' and (page[at] or at > 2 * limit)
return { 'ok', ctx.now, more and page[at - 1] .. ' ' .. page[at - 2] or '', answers }
