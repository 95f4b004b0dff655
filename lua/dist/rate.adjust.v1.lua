#!lua
-- generated from lua/rate/adjust.v1.lua by lua/bundle.py; do not edit
-- rate.adjust.v1: take hits back (`refund`), or forget all that was counted for a subject (`reset`). A refund of a log takes its oldest hits,
-- so that what is left counts at least as long as it has to. Leases of concurrency are given back by release; a reset ends all of them.
--
-- DATA   rules    hash          {base}:rules
-- DATA   arrivals prefix/string {base}:g:     pair
-- DATA   hits     prefix/list   {base}:l:     pair
-- DATA   leases   prefix/zset   {base}:c:     pair
-- DATA   answers  prefix/string {base}:r:     id
-- DATA   config   hash          {base}:config
-- ARGV   rid       id
-- ARGV   now_ms    int 0..9000000000000  ?=0
-- ITEM   rule      id
-- ITEM   subject   label
-- ITEM   action    enum refund|reset     ?=refund
-- ITEM   cost      int 1..1000000        ?=1
-- GROUP  item      1..8
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      adjusted remaining:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   use
-- REPLAY rid
-- COST   8 + 3n commands; at most 230 commands, 1,300 steps

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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{rate:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:rate:[%w._@+-]+):config$') or string.match(KEYS[1], '^([%w._@+-]+:{rate:[%w._@+-]+/[%w._@+-]+}):config$') or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:rate:[%w._@+-]+/[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{rate:<name>}:config, <prefix>:{<slot>}:rate:<name>:config, <prefix>:{rate:<name>/<tag>}:config, <prefix>:{<slot>}:rate:<name>/<tag>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. '!use' then return refuse('key gate', KEYS[2], arg_base .. '!use') end
  KEYS = { arg_base .. ':rules', arg_base .. ':g:', arg_base .. ':l:', arg_base .. ':c:', arg_base .. ':r:', arg_base .. ':config' }
end

local rid = ARGV[1]
if not rid or #rid > 200 or not arg_find(rid, '^[%w._:/@+-]+$') then
  return refuse('rid', rid, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local now_ms = ARGV[2]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[2], 'an integer from 0 to 9000000000000') end
end
local arg_at = 3
local item_count = ARGV[arg_at]
item_count = arg_uint(item_count, 1, 8)
if not item_count then return refuse('item_count', ARGV[arg_at], 'an integer from 1 to 8') end
arg_at = arg_at + 1
local item_rule, item_subject, item_action, item_cost = {}, {}, {}, {}
for i = 1, item_count do
  local v = ARGV[arg_at]
  if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
    return refuse('item[' .. i .. '].rule', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
  end
  item_rule[i] = v
  v = ARGV[arg_at + 1]
  if not v or #v > 200 or not (arg_find(v, '^[%w._:/@+-]+$') or arg_label(v)) then
    return refuse('item[' .. i .. '].subject', v, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
  end
  item_subject[i] = v
  v = ARGV[arg_at + 2]
  if v == '' then
    v = 'refund'
  elseif v ~= 'refund' and v ~= 'reset' then
    return refuse('item[' .. i .. '].action', v, 'one of refund, reset')
  end
  item_action[i] = v
  v = ARGV[arg_at + 3]
  if v == '' then
    v = 1
  else
    v = arg_uint(v, 1, 1000000)
    if not v then return refuse('item[' .. i .. '].cost', ARGV[arg_at + 3], 'an integer from 1 to 1000000') end
  end
  item_cost[i] = v
  arg_at = arg_at + 4
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end

local arg_rare

-- expire_in(key, ms): let a key expire by itself, unless the clock is that of a test.
local function expire_in(key, ms)
  if now_ms == 0 then redis.call('PEXPIRE', key, ms) end
end

-- gcra(due, now, slack): one step of the generic cell rate algorithm. due: when all so far would have come at exactly the rate. slack: how
-- far ahead of that the next may come. Returns due, or now if that is later; and how long to wait, which is not above 0 if the next may
-- come now.
local function gcra(due, now, slack)
  if due < now then due = now end
  return due, due - now - slack
end

-- look_gcra(key, now, cost, pace, whole): what a rule of gcra says to a hit: how much it allows now; how long the hit has to wait (µs), not
-- above 0 if it does not; until when the rule has not all of its burst (µs from now); and what count_gcra stores. whole: the burst times
-- the pace. A rule that was changed since limits what is stored.
-- EARLY
local function look_gcra(key, now, cost, pace, whole)
  local due, wait = gcra(math.min(redis.call('GET', key) or 0, now + whole), now, whole - cost * pace)
  return math.floor((now + whole - due) / pace), wait, due - now, due + cost * pace
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
local function open(clock, row) local config = KEYS[6]
  row = row or redis.call('HMGET', config, 'layout_min', 'clock')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text,  }
end

-- read_rule(stored): the algorithm, pace, burst, limit, period_ms, on_error, mode and version of a rule, as texts; nil: there is no such
-- rule.
-- EARLY
local function read_rule(stored)
  return string.match(stored or '', '^(%l+) (%d+) (%d+) (%d+) (%d+) (%l+) (%l+) (%d+)$')
end

-- recall(at_ms): what a call with this rid left in the last minute: its verb, and a text; or nil.
local function recall(at_ms) local answers = KEYS[5]
  local until_ms, verb, text = string.match(redis.call('GET', answers .. rid) or '', '^(%d+) (%S+) (%S*)$')
  if until_ms and tonumber(until_ms) > at_ms then return verb, text end
end

-- recall_items(at_ms, verb): the answers that this call left in the last minute, or nil: a status for each item, and a number where it has
-- one.
local function recall_items(at_ms, verb)
  local by, text = recall(at_ms)
  if by ~= verb then return nil end
  local items = {}
  for status, number in string.gmatch(text, '(%l+)=(%d*)') do items[#items + 1] = { status, tonumber(number) } end
  return items
end

-- remember(at_ms, verb, text): leave a text for a minute, in case this call is sent again.
local function remember(at_ms, verb, text) local answers = KEYS[5]
  redis.call('SET', answers .. rid, string.format('%.0f %s %s', at_ms + 60000, verb, text))
  expire_in(answers .. rid, 60000)
end

-- remember_items(at_ms, verb, items): remember for a minute what this call was answered.
local function remember_items(at_ms, verb, items)
  local words = {}
  for i, item in ipairs(items) do words[i] = item[1] .. '=' .. (item[2] and string.format('%.0f', item[2]) or '') end
  remember(at_ms, verb, table.concat(words, ','))
end

-- store_arrival(key, now, due): store when all hits of gcra so far would have come at exactly the rate. The past needs no key.
-- EARLY
local function store_arrival(key, now, due)
  if due <= now then
    redis.call('DEL', key)
  elseif now_ms == 0 then
    redis.call('SET', key, due, 'PX', math.ceil((due - now) / 1000))
  else
    redis.call('SET', key, due)
  end
end

local arg_made
function arg_rare()
  if arg_made then return arg_made end

-- stale_of(key, count, floor): how many of the times at the end of a list of this length are before `floor`. The first is not.
local function stale_of(key, count, floor)
  local low, high, at = 0, count, 1
  while low + 1 < high do  -- at most 26: doublings and halvings below 5,000
    if tonumber(redis.call('LINDEX', key, -at)) < floor then
      low, at = at, 2 * at
    else
      high = at
    end
    if at >= high then at = math.floor((low + high) / 2) end
  end
  return low
end

-- look_log(key, now, cost, period_us, limit): what a rule of a log says to a hit, as look_gcra does. Both ends of a period belong to it. The
-- time is that of the newest hit, if the clock of the server went back.
local function look_log(key, now, cost, period_us, limit)
  local newest, count, stale = tonumber(redis.call('LINDEX', key, 0) or 0), redis.call('LLEN', key), 0
  if newest > now then now = newest end
  if newest < now - period_us then stale = count else stale = stale_of(key, count, now - period_us) end
  local fresh, wait, reset = count - stale, 0, 0
  if fresh > 0 then reset = newest + period_us + 1 - now end
  if cost <= limit and cost > limit - fresh then wait = redis.call('LINDEX', key, limit - cost) + period_us + 1 - now end
  return math.max(0, limit - fresh), wait, reset, { now = now, fresh = fresh, stale = stale, period_us = period_us }
end

-- refund_gcra(key, now, cost, pace, burst): take a hit of gcra back; what the rule then allows.
local function refund_gcra(key, now, cost, pace, burst)
  local left, _, _, due = look_gcra(key, now, 0, pace, burst * pace)
  store_arrival(key, now, due - cost * pace)
  return math.min(burst, left + cost)
end

-- refund_log(key, now, cost, period_us, limit): take the oldest hits of a log back; what the rule then allows.
local function refund_log(key, now, cost, period_us, limit)
  local _, _, _, mark = look_log(key, now, 0, period_us, limit)
  local fresh = math.max(0, mark.fresh - cost)
  if fresh == 0 then redis.call('DEL', key) else redis.call('LTRIM', key, 0, fresh - 1) end
  return math.max(0, limit - fresh)
end

  arg_made = { refund_gcra = refund_gcra, refund_log = refund_log }
  return arg_made
end

local rules, arrivals, hits, leases = KEYS[1], KEYS[2], KEYS[3], KEYS[4]

local ctx, refused = open()
if refused then return refused end
local before = recall_items(ctx.now, 'adjust')
if before then return { 'ok', ctx.now, before } end
local stored, items = redis.call('HMGET', rules, unpack(item_rule)), {}  -- at most 8: item
for i = 1, item_count do
  local algorithm = read_rule(stored[i])
  if not algorithm then return refuse('item[' .. i .. '].rule', item_rule[i], 'the name of a rule that is stored in this namespace') end
  if item_action[i] == 'refund' and algorithm == 'concurrency' then
    return refuse('item[' .. i .. '].action', 'refund', 'reset: leases of concurrency are given back by release')
  end
end
for i = 1, item_count do
  local id, algorithm, pace, burst, limit, period_ms = item_rule[i] .. '|' .. item_subject[i], read_rule(stored[i])
  local left = algorithm == 'gcra' and burst + 0 or limit + 0
  if item_action[i] == 'reset' then
    redis.call('DEL', arrivals .. id, hits .. id, leases .. id)
  elseif algorithm == 'gcra' then
    left = arg_rare().refund_gcra(arrivals .. id, ctx.now * 1000, item_cost[i], pace + 0, burst + 0)
  else
    left = arg_rare().refund_log(hits .. id, ctx.now * 1000, item_cost[i], period_ms * 1000, limit + 0)
  end
  items[i] = { 'adjusted', left }
end
remember_items(ctx.now, 'adjust', items)
return { 'ok', ctx.now, items }
