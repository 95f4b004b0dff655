#!lua flags=no-writes
-- generated from lua/kind/list.v1.lua by lua/bundle.py; do not edit
-- kind.list.v1: a page of the kinds with their schemas, in the order in which they expire. `cursor` is what the last page
-- answered, empty to begin; an empty cursor in the answer means that there is no more. A kind that is published
-- meanwhile is listed, in rare cases twice. With an `id`, only this kind is returned, and no cursor.
--
-- DATA   kind     prefix/hash {base}:kind:    id
-- DATA   expiring zset        {base}:expiring
-- DATA   config   hash        {base}:config
-- ARGV   id       id            ?=
-- ARGV   cursor   bytes 0..300  ?=
-- ARGV   limit    int 1..50     ?=20
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int cursor:text items:list(item)
-- EACH   item     found id:id kind:pairs(kind)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   4 + n commands; at most 59 commands, 170 steps

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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{kind:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:kind:[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{kind:<name>}:config, <prefix>:{<slot>}:kind:<name>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. ':nowhere' then return refuse('key nowhere', KEYS[2], arg_base .. ':nowhere') end
  KEYS = { arg_base .. ':kind:', arg_base .. ':expiring', arg_base .. ':config' }
end

local id = ARGV[1]
if id ~= '' and (not id or #id > 200 or not arg_find(id, '^[%w._:/@+-]+$')) then
  return refuse('id', id, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local cursor = ARGV[2]
if not cursor or #cursor > 300 then
  return refuse('cursor', cursor and #cursor, '0 to 300 bytes long')
end
local limit = ARGV[3]
if limit == '' then
  limit = 20
else
  limit = arg_uint(limit, 1, 50)
  if not limit then return refuse('limit', ARGV[3], 'an integer from 1 to 50') end
end
local now_ms = ARGV[4]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[4], 'an integer from 0 to 9000000000000') end
end
if #ARGV ~= 4 then
  return redis.error_reply('ADEQ_ARG expected 4 arguments, got ' .. #ARGV)
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
local function open(clock, row) local config = KEYS[3]
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

local kind, expiring = KEYS[1], KEYS[2]

local ctx, refused = open()
if refused then return refused end
if id ~= '' then
  local is_known = tonumber(redis.call('ZSCORE', expiring, id) or 0) > ctx.now
  return { 'ok', ctx.now, '', { is_known and { 'found', id, redis.call('HGETALL', kind .. id) } or nil } }  -- at most 6: fields of a kind
end
local start = redis.call('ZCOUNT', expiring, '-inf', ctx.now_text)  -- what has expired is listed no more
if cursor ~= '' then
  local score, id = string.match(cursor, '^(%d+) (%S+)$')
  if not score then return refuse('cursor', cursor, 'empty, or what the page before answered') end
  start = math.max(start, rank_after(expiring, score, id))
end
local page = redis.call('ZRANGE', expiring, start, start + limit - 1, 'WITHSCORES')
local items, last = {}, ''
for i = 1, #page, 2 do
  items[#items + 1] = { 'found', page[i], redis.call('HGETALL', kind .. page[i]) }  -- at most 6: fields of a kind
end
if #items == limit then last = page[#page] .. ' ' .. page[#page - 1] end
return { 'ok', ctx.now, last, items }
