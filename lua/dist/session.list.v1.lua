#!lua flags=no-writes
-- generated from lua/session/list.v1.lua by lua/bundle.py; do not edit
-- session.list.v1: a page of valid sessions in the order of their ends: those of a user, or without `user` all of the partition. Also
-- `not_before_us` of the user, 0 if nothing is stored, and `authz_ver`: read them before a login is checked, and pass them to `create`.
-- `cursor` is what the last page answered, empty to begin; an empty cursor in the answer means that there is no more.
--
-- DATA   sessions prefix/hash {base}:s:     id
-- DATA   users    prefix/hash {base}:u:     label
-- DATA   by_user  prefix/zset {base}:of:    label
-- DATA   all      zset        {base}:all
-- DATA   config   hash        {base}:config
-- ARGV   user     label         ?=
-- ARGV   cursor   bytes 0..300  ?=
-- ARGV   limit    int 1..100    ?=20
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int not_before_us:int authz_ver:int cursor:text items:list(item)
-- EACH   item     session handle:text user:label entry:pairs(entry)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   4 commands and 2 for each session; at most 230 commands, 2,600 steps

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
local function arg_label(v)
  local gsub, more = string.gsub, '[\128-\191]'
  if arg_find(v, '\226\128[\128-\138\168\169\175]') or arg_find(v, '\226\129\159') then return nil end
  if arg_find(v, '\225\154\128') or arg_find(v, '\227\128\128') then return nil end
  v = gsub(gsub(v, '\194[\161-\191]', 'a'), '[\195-\223]' .. more, 'a')
  v = gsub(gsub(v, '\224[\160-\191]' .. more, 'a'), '\237[\128-\159]' .. more, 'a')
  v = gsub(v, '[\225-\236\238\239]' .. more .. more, 'a')
  v = gsub(gsub(v, '\240[\144-\191]' .. more .. more, 'a'), '\244[\128-\143]' .. more .. more, 'a')
  v = gsub(v, '[\241-\243]' .. more .. more .. more, 'a')
  return arg_find(v, '^[%w._:/@+-]+$')
end

local KEYS, ARGV = KEYS, ARGV
if #KEYS ~= 2 then
  return redis.error_reply('ADEQ_ARG expected 2 keys, got ' .. #KEYS)
end

do
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{session:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:session:[%w._@+-]+):config$') or string.match(KEYS[1], '^([%w._@+-]+:{session:[%w._@+-]+/[%w._@+-]+}):config$') or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:session:[%w._@+-]+/[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{session:<name>}:config, <prefix>:{<slot>}:session:<name>:config, <prefix>:{session:<name>/<tag>}:config, <prefix>:{<slot>}:session:<name>/<tag>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. ':nowhere' then return refuse('key nowhere', KEYS[2], arg_base .. ':nowhere') end
  KEYS = { arg_base .. ':s:', arg_base .. ':u:', arg_base .. ':of:', arg_base .. ':all', arg_base .. ':config' }
end

local user = ARGV[1]
if user ~= '' and (not user or #user > 200 or not (arg_find(user, '^[%w._:/@+-]+$') or arg_label(user))) then
  return refuse('user', user, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
end
local cursor = ARGV[2]
if not cursor or #cursor > 300 then
  return refuse('cursor', cursor and #cursor, '0 to 300 bytes long')
end
local limit = ARGV[3]
if limit == '' then
  limit = 20
else
  limit = arg_uint(limit, 1, 100)
  if not limit then return refuse('limit', ARGV[3], 'an integer from 1 to 100') end
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

-- handle_of(hash): what a session is called in events and lists. Neither its id nor the stored hash can be found from it.
local function handle_of(hash)
  return string.sub(redis.sha1hex(hash), 1, 16)
end

-- is_valid(ctx, not_before, row): whether a session is valid. not_before: that of its user. row: its user, born_us, active_ms, idle_ms and
-- ends_ms, as they are stored, if it is stored.
local function is_valid(ctx, not_before, row)
  return row[1] and tonumber(row[2]) > not_before and ctx.now < row[3] + row[4] and ctx.now < tonumber(row[5])
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
local function open(clock, row) local config = KEYS[5]
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

-- read_user(ctx, user): the record of a user, also of one that is not stored: not_before (microseconds), authz_ver, ends_ms; `exists`; and
-- begun, which not_before was when the record was made. A lost record ends all sessions, and revives none: the new one begins later.
local function read_user(ctx, user) local users = KEYS[2]
  local row = redis.call('HMGET', users .. user, 'not_before_us', 'authz_ver', 'ends_ms', 'begun_us')
  if not row[1] then
    local begun = ctx.now * 1000
    return { not_before = begun, authz_ver = 1, ends_ms = 0, begun = begun }
  end
  return { exists = true, not_before = tonumber(row[1]), authz_ver = tonumber(row[2]), ends_ms = tonumber(row[3]), begun = tonumber(row[4]) }
end

local sessions, by_user, all = KEYS[1], KEYS[3], KEYS[4]

local ctx, refused = open()
if refused then return refused end
local set, start = user ~= '' and by_user .. user or all, 0
if cursor ~= '' then
  local score, id = string.match(cursor, '^(%d+) (%S+)$')
  if not score then return refuse('cursor', cursor, 'empty, or what the page before answered') end
  start = rank_after(set, score, id)
end
local known = user ~= '' and read_user(ctx, user) or { authz_ver = 0 }
local page = redis.call('ZRANGE', set, start, start + limit - 1, 'WITHSCORES')
local items = {}
for i = 1, #page, 2 do
  local row = redis.call('HMGET', sessions .. page[i], 'user', 'born_us', 'active_ms', 'idle_ms', 'ends_ms', 'created_ms', 'name', 'address',
    'agent')
  local owner = user ~= '' and known or row[1] and read_user(ctx, row[1])
  if owner and owner.exists and is_valid(ctx, owner.not_before, row) then
    local entry = { 'active_ms', row[3], 'idle_ms', row[4], 'ends_ms', row[5], 'created_ms', row[6] }
    for j, field in ipairs({ 'name', 'address', 'agent' }) do
      if row[6 + j] then
        entry[#entry + 1] = field
        entry[#entry + 1] = row[6 + j]
      end
    end
    items[#items + 1] = { 'session', handle_of(page[i]), row[1], entry }
  end
end
local last = #page == 2 * limit and page[#page] .. ' ' .. page[#page - 1] or ''
return { 'ok', ctx.now, known.exists and known.not_before or 0, known.authz_ver, last, items }
