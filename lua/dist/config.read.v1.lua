#!lua flags=no-writes
-- generated from lua/config/read.v1.lua by lua/bundle.py; do not edit
-- config.read.v1: names, as they are now; or, without names, all that has changed since a rev, in the order of versions. `since` 0: all
-- names with values. What is written between two pages comes in a later page. So who follows the pages to the end has what the server had
-- when it gave the last one, and sends its `rev` as `since` later. `full`: the server does not know what has changed since. It forgets
-- removed names and old revs, or has lost the last writes in a failover. Then read all. A page ends at `limit` or at 1 MiB.
--
-- DATA   value   prefix/hash {base}:value:  id
-- DATA   changed zset        {base}:changed
-- DATA   revs    zset        {base}:revs
-- DATA   config  hash        {base}:config
-- ARGV   since    int 0..9007199254740991 ?=0
-- ARGV   cursor   bytes 0..300     ?=
-- ARGV   limit    int 1..1000      ?=100
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- ITEM   name     id
-- GROUP  item     0..50
-- RETURN ok       now_ms:int rev:int cursor:text items:list(entry)
-- RETURN full     now_ms:int rev:int
-- EACH   entry    value name:id version:int at_ms:int actor:bytes reason:bytes value:bytes
-- EACH   entry    removed name:id version:int at_ms:int actor:bytes reason:bytes
-- EACH   entry    missing name:id
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   4 commands and 1 for each name; at most 1,200 commands, 15,000 steps

local arg_find = string.find
local arg_empty = {}
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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{config:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:config:[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{config:<name>}:config, <prefix>:{<slot>}:config:<name>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. ':nowhere' then return refuse('key nowhere', KEYS[2], arg_base .. ':nowhere') end
  KEYS = { arg_base .. ':value:', arg_base .. ':changed', arg_base .. ':revs', arg_base .. ':config' }
end

local since = ARGV[1]
if since == '' then
  since = 0
else
  since = arg_uint(since, 0, 9007199254740991)
  if not since then return refuse('since', ARGV[1], 'an integer from 0 to 9007199254740991') end
end
local cursor = ARGV[2]
if not cursor or #cursor > 300 then
  return refuse('cursor', cursor and #cursor, '0 to 300 bytes long')
end
local limit = ARGV[3]
if limit == '' then
  limit = 100
else
  limit = arg_uint(limit, 1, 1000)
  if not limit then return refuse('limit', ARGV[3], 'an integer from 1 to 1000') end
end
local now_ms = ARGV[4]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[4], 'an integer from 0 to 9000000000000') end
end
local arg_at = 5
local item_count = ARGV[arg_at]
item_count = arg_uint(item_count, 0, 50)
if not item_count then return refuse('item_count', ARGV[arg_at], 'an integer from 0 to 50') end
arg_at = arg_at + 1
local item_name = arg_empty
if item_count > 0 then item_name = {} end
for i = 1, item_count do
  local v = ARGV[arg_at]
  if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
    return refuse('item[' .. i .. '].name', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
  end
  item_name[i] = v
  arg_at = arg_at + 1
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end

-- read_record(name): what is stored of a name: version, at_ms, actor, reason, size, and value or removed. All are texts; version is false
-- if nothing is stored.
-- EARLY
local function read_record(name) local value = KEYS[1]
  local row = redis.call('HMGET', value .. name, 'version', 'at_ms', 'actor', 'reason', 'size', 'removed', 'value')
  return { version = row[1], at_ms = row[2], actor = row[3], reason = row[4], size = row[5], removed = row[6], value = row[7] }
end

-- entry_of(name): a name as `read` answers it, and about how many bytes that is.
-- EARLY
local function entry_of(name)
  local record = read_record(name)
  if not record.version then return { 'missing', name }, 0 end
  local entry = { record.value and 'value' or 'removed', name, tonumber(record.version), tonumber(record.at_ms), record.actor,
    record.reason, record.value or nil }
  return entry, 100 + #name + #record.actor + #record.reason + #(record.value or '')
end

-- knows_rev(ctx, rev_text): whether the server had that rev, and has forgotten no removal since.
-- EARLY
local function knows_rev(ctx, rev_text) local revs = KEYS[3]
  return tonumber(rev_text) == ctx.settings_rev or redis.call('ZSCORE', revs, rev_text)
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
local function open(clock, row) local config = KEYS[4]
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'rev')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_rev = tonumber(row[3] or 0) }
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

local changed = KEYS[2]

local ctx, refused = open()
if refused then return refused end
local items = {}
if item_count > 0 then
  if since > 0 then return refuse('since', since, '0 with names') end
  if cursor ~= '' then return refuse('cursor', cursor, 'empty with names') end
  for i, name in ipairs(item_name) do items[i] = entry_of(name) end
  return { 'ok', ctx.now, ctx.settings_rev, '', items }
end

local rev = ctx.settings_rev
local since_text, first, start = string.format('%.0f', since), rev, nil
if cursor ~= '' then
  -- the revs of the first page and of the last one, and where that ended
  local first_text, seen_text, score, name = string.match(cursor, '^(%d+) (%d+) (%d+) (%S+)$')
  if not first_text then return refuse('cursor', cursor, 'empty, or what the page before answered') end
  if not knows_rev(ctx, first_text) or not knows_rev(ctx, seen_text) then return { 'full', ctx.now, rev } end
  first, start = tonumber(first_text), rank_after(changed, score, name)
else
  start = redis.call('ZCOUNT', changed, '-inf', since_text)
end
if since > 0 and not knows_rev(ctx, since_text) then return { 'full', ctx.now, rev } end
local page = redis.call('ZRANGE', changed, start, start + limit, 'WITHSCORES')
local size, last = 0, ''
for i = 1, #page, 2 do
  local entry, more = entry_of(page[i])
  size = size + more
  if i == 2 * limit + 1 or size > 1048576 then  -- one name alone is smaller
    last = string.format('%.0f %.0f ', first, rev) .. page[i - 1] .. ' ' .. page[i - 2]
    break
  end
  -- A reader of all knows a removed name only if an earlier page had it.
  if entry[1] == 'value' or since > 0 or tonumber(page[i + 1]) > first then items[#items + 1] = entry end
end
return { 'ok', ctx.now, rev, last, items }
