#!lua
-- generated from lua/rate/hit.v1.lua by lua/bundle.py; do not edit
-- rate.hit.v1: count a hit of 1 to 8 rules, each for a subject, if all of them allow it: all or nothing. A refused hit counts nowhere. A
-- cost of 0 only looks: with cost 0 in all items, nothing is written. `remaining`: how much more the rule allows now. `retry_ms`: after
-- which time the rule allows this cost, if nothing else comes; of a whole call the longest of these. `reset_ms`: after which time the rule
-- allows as much as it ever does; of concurrency, when the lease of this hit ends unless it is renewed. `never`: the cost is more than the
-- burst, or than the limit of a log, so waiting does not help. A shadow rule that would refuse answers `shadowed`, does not count the hit
-- and does not stop it. `on_error`: whether a client refuses or allows if it cannot ask the server.
-- A hit of a rule of concurrency needs a rid, which names its lease, and a cost of 1. The answer to a hit with a rid is remembered for a
-- minute, unless it only looks. Without a rid, a hit that is sent again counts again, which never allows more than the rules.
-- `returned`: the lease was given back before this hit arrived, so nothing has counted it.
--
-- DATA   rules    hash          {base}:rules
-- DATA   arrivals prefix/string {base}:g:     pair
-- DATA   hits     prefix/list   {base}:l:     pair
-- DATA   leases   prefix/zset   {base}:c:     pair
-- DATA   answers  prefix/string {base}:r:     id
-- DATA   config   hash          {base}:config
-- ARGV   rid       id                    ?=
-- ARGV   now_ms    int 0..9000000000000  ?=0
-- ITEM   rule      id
-- ITEM   subject   label
-- ITEM   cost      int 0..1000000        ?=1
-- GROUP  item      1..8
-- RETURN allowed   now_ms:int items:list(item)
-- RETURN refused   now_ms:int retry_ms:int items:list(item)
-- RETURN never     now_ms:int items:list(item)
-- RETURN returned  now_ms:int
-- EACH   item      allowed  remaining:int retry_ms:int reset_ms:int limit:int period_ms:int on_error:text
-- EACH   item      refused  remaining:int retry_ms:int reset_ms:int limit:int period_ms:int on_error:text
-- EACH   item      never    remaining:int retry_ms:int reset_ms:int limit:int period_ms:int on_error:text
-- EACH   item      shadowed remaining:int retry_ms:int reset_ms:int limit:int period_ms:int on_error:text
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   use
-- REPLAY rid
-- COST   5 commands for one rule of gcra, 3 + 2n for n of them; 2 more with a rid; at most 240 commands, 46,000 steps

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
if rid ~= '' and (not rid or #rid > 200 or not arg_find(rid, '^[%w._:/@+-]+$')) then
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
local item_rule, item_subject, item_cost = {}, {}, {}
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
    v = 1
  else
    v = arg_uint(v, 0, 1000000)
    if not v then return refuse('item[' .. i .. '].cost', ARGV[arg_at + 2], 'an integer from 0 to 1000000') end
  end
  item_cost[i] = v
  arg_at = arg_at + 3
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end

local arg_rare

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

-- open_rules(names): what a call begins with that needs these rules: the time (µs), and the rules as they are stored; or nil and the error
-- to return.
-- EARLY
local function open_rules(names) local rules, config = KEYS[1], KEYS[6]
  local row, now = redis.call('HMGET', config, 'layout_min', 'clock')
  if now_ms == 0 and row[2] == 'server' and (row[1] or 1) + 0 <= 1 then
    local time = redis.call('TIME')
    now = time[1] * 1000000 + time[2]
  else
    local ms, refused = arg_rare().read_clock(row[1], row[2])
    if not ms then return nil, refused end
    now = ms * 1000
  end
  return now, redis.call('HMGET', rules, unpack(names))  -- at most 100: items of a call
end

-- read_rule(stored): the algorithm, pace, burst, limit, period_ms, on_error, mode and version of a rule, as texts; nil: there is no such
-- rule.
-- EARLY
local function read_rule(stored)
  return string.match(stored or '', '^(%l+) (%d+) (%d+) (%d+) (%d+) (%l+) (%l+) (%d+)$')
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

-- expire_in(key, ms): let a key expire by itself, unless the clock is that of a test.
local function expire_in(key, ms)
  if now_ms == 0 then redis.call('PEXPIRE', key, ms) end
end

-- count_lease(key, mark): give a lease to the rid of the call, and forget leases that have ended. mark: from look_leases. Returns how long
-- the lease lasts.
local function count_lease(key, mark)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', mark.at_ms)
  redis.call('ZADD', key, mark.at_ms + mark.lease_ms, rid)
  expire_in(key, 3600000)  -- as long as any rule lets the leases that are there last
  return mark.lease_ms * 1000
end

-- count_log(key, mark, cost): count a hit of a log, and forget those that no longer count. mark: from look_log. Returns how long the hit
-- counts.
local function count_log(key, mark, cost)
  if mark.fresh == 0 then
    redis.call('DEL', key)
  elseif mark.stale > 0 then
    redis.call('LTRIM', key, 0, mark.fresh - 1)
  end
  local times = {}
  for i = 1, cost do times[i] = mark.now end
  redis.call('LPUSH', key, unpack(times))  -- at most 5,000: limit of a log
  expire_in(key, math.ceil(mark.period_us / 1000) + 1)
  return mark.period_us + 1
end

-- look_leases(key, now, cost, lease_ms, limit): what a rule of concurrency says to a hit, as look_gcra does. It waits for leases to end by
-- themselves, at the longest.
local function look_leases(key, now, cost, lease_ms, limit)
  local at_ms, wait = math.floor(now / 1000), 0
  local after = string.format('(%.0f', at_ms)
  local count = redis.call('ZCOUNT', key, after, '+inf')
  local left = limit - count
  if cost > 0 and left < cost then
    local first = redis.call('ZRANGE', key, after, '+inf', 'BYSCORE', 'LIMIT', count - limit, 1, 'WITHSCORES')
    wait = first[2] * 1000 - now
  end
  return math.max(0, left), wait, 0, { at_ms = at_ms, lease_ms = lease_ms }
end

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

-- recall(at_ms): what a call with this rid left in the last minute: its verb, and a text; or nil.
local function recall(at_ms) local answers = KEYS[5]
  local until_ms, verb, text = string.match(redis.call('GET', answers .. rid) or '', '^(%d+) (%S+) (%S*)$')
  if until_ms and tonumber(until_ms) > at_ms then return verb, text end
end

-- recall_hit(at_ms): the answer to a hit with this rid in the last minute, or nil. The texts of other calls have another form.
local function recall_hit(at_ms)
  local verb, text = recall(at_ms)
  if verb == 'returned' then return { verb, at_ms } end
  local status, retry_ms, list = string.match(text or '', '^(%l+);(%d+);(.*)$')
  if not status then return nil end
  local items = {}
  for word, left, retry, reset, limit, period, on_error in string.gmatch(list, '(%l+),(%d+),(%d+),(%d+),(%d+),(%d+),(%l+)') do
    items[#items + 1] = { word, tonumber(left), tonumber(retry), tonumber(reset), tonumber(limit), tonumber(period), on_error }
  end
  if status == 'refused' then return { status, at_ms, tonumber(retry_ms), items } end
  return { status, at_ms, items }
end

-- remember(at_ms, verb, text): leave a text for a minute, in case this call is sent again.
local function remember(at_ms, verb, text) local answers = KEYS[5]
  redis.call('SET', answers .. rid, string.format('%.0f %s %s', at_ms + 60000, verb, text))
  expire_in(answers .. rid, 60000)
end

-- remember_hit(at_ms, status, retry_ms, items): remember for a minute what the hit with this rid was answered.
local function remember_hit(at_ms, status, retry_ms, items)
  local words = { status, string.format('%.0f', retry_ms) }
  for i, item in ipairs(items) do words[i + 2] = table.concat(item, ',') end
  remember(at_ms, 'hit', table.concat(words, ';'))
end

  arg_made = { count_lease = count_lease, count_log = count_log, look_leases = look_leases, look_log = look_log, read_clock = read_clock, recall_hit = recall_hit, remember_hit = remember_hit }
  return arg_made
end

local arrivals, hits, leases = KEYS[2], KEYS[3], KEYS[4]

local now, stored = open_rules(item_rule)
if not now then return stored end
if rid ~= '' then
  local before = arg_rare().recall_hit(math.floor(now / 1000))
  if before then return before end
end

local items, keys, marks, status, retry_us, counts = {}, {}, {}, 'allowed', 0, false
for i = 1, item_count do
  local key, cost = item_rule[i] .. '|' .. item_subject[i], item_cost[i]
  local algorithm, pace, burst, limit, period_ms, on_error, mode = read_rule(stored[i])
  if not algorithm then return refuse('item[' .. i .. '].rule', item_rule[i], 'the name of a rule that is stored in this namespace') end
  if algorithm == 'gcra' then key = arrivals .. key elseif algorithm == 'log' then key = hits .. key else key = leases .. key end
  for j = 1, i - 1 do
    if keys[j] == key then return refuse('item[' .. i .. '].subject', item_subject[i], 'another one than in item[' .. j .. ']') end
  end
  limit, period_ms = limit + 0, period_ms + 0
  local most, left, wait, reset, mark = limit, nil, nil, nil, nil
  if algorithm == 'gcra' then
    most, pace = burst + 0, pace + 0
    left, wait, reset, mark = look_gcra(key, now, cost, pace, most * pace)
  elseif algorithm == 'log' then
    left, wait, reset, mark = arg_rare().look_log(key, now, cost, period_ms * 1000, limit)
  else
    if cost > 1 then return refuse('item[' .. i .. '].cost', cost, '0 or 1: the rule is one of concurrency') end
    if cost == 1 and rid == '' then return refuse('rid', nil, 'given: it names the lease of a rule of concurrency') end
    left, wait, reset, mark = arg_rare().look_leases(key, now, cost, pace + 0, limit)
  end
  local word = 'allowed'
  if cost > most then
    word, wait = 'never', 0
  elseif wait > 0 then
    word = 'refused'
  else
    wait = 0
  end
  if word ~= 'allowed' then
    if mode == 'shadow' then
      word = 'shadowed'
    else
      if status ~= 'never' then status = word end
      if wait > retry_us then retry_us = wait end
    end
  end
  if cost > 0 then counts = true end
  keys[i], marks[i] = key, mark
  items[i] = { word, left, math.ceil(wait / 1000), math.ceil(reset / 1000), limit, period_ms, on_error }
end

if status == 'allowed' then
  for i = 1, item_count do
    local item, cost, mark = items[i], item_cost[i], marks[i]
    if cost > 0 and item[1] == 'allowed' then
      local reset
      if type(mark) == 'number' then
        store_arrival(keys[i], now, mark)
        reset = mark - now
      else
        reset = mark.fresh and arg_rare().count_log(keys[i], mark, cost) or arg_rare().count_lease(keys[i], mark)
      end
      item[2], item[4] = item[2] - cost, math.ceil(reset / 1000)
    end
  end
end
local at_ms, retry_ms = math.floor(now / 1000), math.ceil(retry_us / 1000)
if counts and rid ~= '' then arg_rare().remember_hit(at_ms, status, retry_ms, items) end
if status == 'refused' then return { status, at_ms, retry_ms, items } end
return { status, at_ms, items }
