#!lua flags=no-writes
-- generated from lua/queue/limits.v1.lua by lua/bundle.py; do not edit
-- queue.limits.v1: return the limits that are set; for named keys, how many tasks hold each, how many wait in its
-- queue, and when its rate lets the next one start. `cursor` is the cursor of the last page, '' at first; an empty
-- cursor in the answer means that this was the last page.
--
-- DATA   config  hash        {base}:config
-- DATA   limits  hash        {base}:limits
-- DATA   holding prefix/zset {base}:holding: limit
-- DATA   waiting prefix/zset {base}:waiting: limit
-- DATA   rates   zset        {base}:rates
-- ARGV   cursor    bytes 0..19   ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   key       limit
-- GROUP  item      0..200
-- RETURN ok        now_ms:int cursor:text rules:pairs(rules) items:list(item)
-- EACH   item      limited by:limit rule:text holding:int waiting:int next_ms:int
-- EACH   item      unlimited holding:int waiting:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   3 + 4n commands, O(n); at most 890 commands, 4,700 steps

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
local function arg_limit(v)
  if v == 'all' then return v end
  local kind, id = string.match(v or '', '^(%l+):(.*)$')
  local known = kind == 'user' or kind == 'tag' or kind == 'key'
  if not known or #id > 200 then return nil end
  if id == '*' or arg_find(id, '^[%w._:/@+-]+$') or (kind ~= 'key' and arg_label(id)) then return v end
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
  KEYS = { arg_base .. ':config', arg_base .. ':limits', arg_base .. ':holding:', arg_base .. ':waiting:', arg_base .. ':rates' }
end

local cursor = ARGV[1]
if not cursor or #cursor > 19 then
  return refuse('cursor', cursor and #cursor, '0 to 19 bytes long')
end
local now_ms = ARGV[2]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9007199254740991)
  if not now_ms then return refuse('now_ms', ARGV[2], 'an integer from 0 to 9007199254740991') end
end
local arg_at = 3
local item_count = ARGV[arg_at]
item_count = arg_uint(item_count, 0, 200)
if not item_count then return refuse('item_count', ARGV[arg_at], 'an integer from 0 to 200') end
arg_at = arg_at + 1
local item_key = arg_empty
if item_count > 0 then item_key = {} end
for i = 1, item_count do
  local v = ARGV[arg_at]
  v = arg_limit(v)
  if not v then return refuse('item[' .. i .. '].key', ARGV[arg_at], 'all, or user: or tag: and a label (1 to 200 bytes) or *, or key: and an id or *') end
  item_key[i] = v
  arg_at = arg_at + 1
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
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

local limits, holding, waiting, rates = KEYS[2], KEYS[3], KEYS[4], KEYS[5]

local ctx, refused = open()
if refused then return refused end
if not string.find(cursor, '^%d*$') then return refuse('cursor', cursor, 'empty, or what the page before answered') end

local page, answers = { '0', {} }, {}
if item_count == 0 then page = redis.call('HSCAN', limits, cursor == '' and '0' or cursor, 'COUNT', 200) end
for i, key in ipairs(item_key) do
  local kind = string.gsub(key, ':.*', ':*')
  local rule = redis.call('HMGET', limits, key, kind)
  local held, lined = redis.call('ZCARD', holding .. key), redis.call('ZCARD', waiting .. key)
  local by = rule[1] and key or kind
  rule = rule[1] or rule[2]
  if rule then
    local interval_ms, burst = string.match(rule, '^%d+ %S+ (%S+) (%d+)$')
    local next_ms = tonumber(redis.call('ZSCORE', rates, key) or 0) - (burst - 1) * interval_ms
    answers[i] = { 'limited', by, rule, held, lined, math.ceil(math.max(ctx.now, math.min(next_ms, ctx.now + interval_ms))) }
  else
    answers[i] = { 'unlimited', held, lined }
  end
end
return { 'ok', ctx.now, page[1] ~= '0' and page[1] or '', page[2], answers }
