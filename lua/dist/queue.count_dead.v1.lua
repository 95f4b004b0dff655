#!lua flags=no-writes
-- generated from lua/queue/count_dead.v1.lua by lua/bundle.py; do not edit
-- queue.count_dead.v1: count dead tasks by kind and reason, the newest first. `cursor` is the cursor of the last call, '' at
-- first; an empty cursor in the answer means that no older ones are left. A task that does not move meanwhile is
-- counted once. A kind or reason that is not set is ''. first_ms and last_ms: when the first and the last of them died.
--
-- DATA   config hash        {base}:config
-- DATA   task   prefix/hash {base}:task:  id
-- DATA   dead   zset        {base}:dead
-- ARGV   cursor    bytes 0..256  ?=
-- ARGV   limit     int 1..1000   ?=1000
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int cursor:text counted:int items:list(item)
-- EACH   item      counted kind:bytes reason:bytes count:int first_ms:int last_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   4 + n commands, O(n + log m); at most 1,200 commands, 12,000 steps

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
  KEYS = { arg_base .. ':config', arg_base .. ':task:', arg_base .. ':dead' }
end

local cursor = ARGV[1]
if not cursor or #cursor > 256 then
  return refuse('cursor', cursor and #cursor, '0 to 256 bytes long')
end
local limit = ARGV[2]
if limit == '' then
  limit = 1000
else
  limit = arg_uint(limit, 1, 1000)
  if not limit then return refuse('limit', ARGV[2], 'an integer from 1 to 1000') end
end
local now_ms = ARGV[3]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9007199254740991)
  if not now_ms then return refuse('now_ms', ARGV[3], 'an integer from 0 to 9007199254740991') end
end
if #ARGV ~= 3 then
  return redis.error_reply('ADEQ_ARG expected 3 arguments, got ' .. #ARGV)
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

local task, dead = KEYS[2], KEYS[3]

local ctx, refused = open()
if refused then return refused end
local score, id = string.match(cursor, '^(%d+) (%S+)$')
if cursor ~= '' and not score then
  return refuse('cursor', cursor, 'empty, or what the call before answered')
end

local upto = score and rank_after(dead, score, id) or redis.call('ZCARD', dead)
if score and redis.call('ZSCORE', dead, id) == score then upto = upto - 1 end
local from = math.max(0, upto - limit)
local page = upto > 0 and redis.call('ZRANGE', dead, from, upto - 1, 'WITHSCORES') or {}
local groups, answers = {}, {}
for i = #page - 1, 1, -2 do
  local row = redis.call('HMGET', task .. page[i], 'kind', 'reason')
  local kind, reason, at_ms = row[1] or '', row[2] or '', tonumber(page[i + 1])
  local name = kind .. ' ' .. reason
  local group = groups[name]
  if not group then
    group = { 'counted', kind, reason, 0, at_ms, at_ms }
    groups[name] = group
    answers[#answers + 1] = group
  end
  group[4], group[5] = group[4] + 1, at_ms
end
return { 'ok', ctx.now, from > 0 and page[2] .. ' ' .. page[1] or '', #page / 2, answers }
