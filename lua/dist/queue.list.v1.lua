#!lua flags=no-writes
-- generated from lua/queue/list.v1.lua by lua/bundle.py; do not edit
-- queue.list.v1: return a page of the tasks that match all given conditions: state, user, tag and parent; also kind,
-- reason and source. Payload, result, error and headers are left out. `cursor` is the cursor of the last page, '' at
-- first; an empty cursor in the answer means that this was the last page. The page follows the smallest given set: a
-- user, tag or parent in the order of creation, a state in its own order. A task that stays at its place in that set is
-- listed once, whatever else changes; a running task moves when it is renewed, and may come again. A page may hold
-- fewer tasks than limit, even none: it reads at most 1,000 tasks, and stops at 1 MiB. If only the state `ready` is
-- given, the tasks are those of one lane.
--
-- DATA   config   hash        {base}:config
-- DATA   running  hash        {base}:running
-- DATA   leases   zset        {base}:leases
-- DATA   task     prefix/hash {base}:task:     id
-- DATA   ready    prefix/zset {base}:ready:    lane
-- DATA   delayed  zset        {base}:delayed
-- DATA   blocked  zset        {base}:blocked
-- DATA   finished zset        {base}:finished
-- DATA   dead     zset        {base}:dead
-- DATA   by_user  prefix/zset {base}:by:user:  label
-- DATA   by_tag   prefix/zset {base}:by:tag:   label
-- DATA   children prefix/zset {base}:children: id
-- ARGV   state     enum all|ready|delayed|blocked|running|stalled|completed|cancelled|dead ?=all
-- ARGV   lane      lane          ?=
-- ARGV   user      label         ?=
-- ARGV   tag       label         ?=
-- ARGV   parent    id            ?=
-- ARGV   kind      label         ?=
-- ARGV   reason    name          ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   cursor    bytes 0..256  ?=
-- ARGV   limit     int 1..1000   ?=100
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int cursor:text items:list(item)
-- EACH   item      found id:id state:text at_ms:int place:int record:pairs(task)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   5 + 2n commands in a state, up to 8n by user, tag or parent, O(n log m); at most 360 commands, 34,000 steps

local BAND = 281474976710656
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
local function arg_lane(v)
  if not v or v == 'any' then return v end
  local group, rest = string.match(v, '^group/([%w._@+-]+)(.*)$')
  if not group or #group > 100 then return nil end
  if rest == '' then return v end
  local inst = string.match(rest, '^/inst/([%w._@+-]+)$')
  if inst and #inst <= 100 then return v end
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
  KEYS = { arg_base .. ':config', arg_base .. ':running', arg_base .. ':leases', arg_base .. ':task:', arg_base .. ':ready:', arg_base .. ':delayed', arg_base .. ':blocked', arg_base .. ':finished', arg_base .. ':dead', arg_base .. ':by:user:', arg_base .. ':by:tag:', arg_base .. ':children:' }
end

local state = ARGV[1]
if state == '' then
  state = 'all'
elseif state ~= 'all' and state ~= 'ready' and state ~= 'delayed' and state ~= 'blocked' and state ~= 'running' and state ~= 'stalled' and state ~= 'completed' and state ~= 'cancelled' and state ~= 'dead' then
  return refuse('state', state, 'one of all, ready, delayed, blocked, running, stalled, completed, cancelled, dead')
end
local lane = ARGV[2]
if lane == '' then
  lane = ''
else
  lane = arg_lane(lane)
  if not lane then return refuse('lane', ARGV[2], 'any, group/<name> or group/<name>/inst/<name>') end
end
local user = ARGV[3]
if user ~= '' and (not user or #user > 200 or not (arg_find(user, '^[%w._:/@+-]+$') or arg_label(user))) then
  return refuse('user', user, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
end
local tag = ARGV[4]
if tag ~= '' and (not tag or #tag > 200 or not (arg_find(tag, '^[%w._:/@+-]+$') or arg_label(tag))) then
  return refuse('tag', tag, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
end
local parent = ARGV[5]
if parent ~= '' and (not parent or #parent > 200 or not arg_find(parent, '^[%w._:/@+-]+$')) then
  return refuse('parent', parent, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local kind = ARGV[6]
if kind ~= '' and (not kind or #kind > 200 or not (arg_find(kind, '^[%w._:/@+-]+$') or arg_label(kind))) then
  return refuse('kind', kind, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
end
local reason = ARGV[7]
if reason ~= '' and (not reason or #reason > 100 or not arg_find(reason, '^[%w._@+-]+$')) then
  return refuse('reason', reason, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
end
local source = ARGV[8]
if not source or #source > 200 then
  return refuse('source', source and #source, '0 to 200 bytes long')
end
local cursor = ARGV[9]
if not cursor or #cursor > 256 then
  return refuse('cursor', cursor and #cursor, '0 to 256 bytes long')
end
local limit = ARGV[10]
if limit == '' then
  limit = 100
else
  limit = arg_uint(limit, 1, 1000)
  if not limit then return refuse('limit', ARGV[10], 'an integer from 1 to 1000') end
end
local now_ms = ARGV[11]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9007199254740991)
  if not now_ms then return refuse('now_ms', ARGV[11], 'an integer from 0 to 9007199254740991') end
end
if #ARGV ~= 11 then
  return redis.error_reply('ADEQ_ARG expected 11 arguments, got ' .. #ARGV)
end

-- find_set(id, record): the set that a task is in, and its score there; nil if it is in none or has no record.
local function find_set(id, record) local leases, ready, delayed, blocked, finished, dead = KEYS[3], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
  if not record then return nil end
  for _, set in ipairs({ ready .. (record.lane or 'any'), leases, finished, delayed, dead, blocked }) do
    local score = redis.call('ZSCORE', set, id)
    if score then return set, score end
  end
end

-- narrowest(named): the smallest of the named sets. Returns its name and its key.
local function narrowest(named)
  local best, fewest
  for _, name in ipairs({ 'state', 'user', 'tag', 'parent' }) do
    local count = named[name] and redis.call('ZCARD', named[name])
    if count and (not best or count < fewest) then best, fewest = name, count end
  end
  return best, named[best]
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

-- read_record(id): the record of a task as a table by name, and how many bytes its values have; nil if there is none.
local function read_record(id) local task = KEYS[4]
  local flat, record, bytes = redis.call('HGETALL', task .. id), {}, 0  -- at most 70: fields of a record
  if #flat == 0 then return nil, 0 end
  for f = 1, #flat, 2 do
    record[flat[f]] = flat[f + 1]
    bytes = bytes + #flat[f + 1]
  end
  return record, bytes
end

-- state_of(ctx, set, score, record): the state of a task by the set it is in; nil if it is in none.
local function state_of(ctx, set, score, record) local leases, delayed, blocked, finished, dead = KEYS[3], KEYS[6], KEYS[7], KEYS[8], KEYS[9]
  if not set then return nil end
  if set == leases then return tonumber(score) > ctx.now and 'running' or 'stalled' end
  if set == finished then return record.cancelled_ms and 'cancelled' or 'completed' end
  return set == delayed and 'delayed' or set == blocked and 'blocked' or set == dead and 'dead' or 'ready'
end

-- summarise(id, state, score, record): a task as get and list answer it: its state, the time or place that its score
-- says, and its record with the parts of the current or last lease spelled out.
local function summarise(id, state, score, record) local running = KEYS[2]
  local held = redis.call('HGET', running, id)
  local started, attempt, delivery, crashes, fence, worker =
    string.match(held and string.sub(held, (string.find(held, '|', 1, true) or #held) + 1) or record.ran or '', '^(%d+) (%d+) (%d+) (%d+) (%d+) (%S+)$')
  record.worker, record.started_ms, record.fence = worker, started, fence
  if held or state == 'completed' then record.attempts, record.deliveries = attempt, delivery end
  if held then record.token, record.crashes = string.match(held, '^%S+'), crashes end
  record.ran = nil
  local place, at_ms, shown = 0, tonumber(score), {}
  if state == 'ready' or state == 'blocked' then place, at_ms = at_ms % BAND, 0 end
  for name, value in pairs(record) do
    shown[#shown + 1] = name
    shown[#shown + 1] = value
  end
  return { 'found', id, state, at_ms, place, shown }
end

local leases, ready, delayed, blocked, finished, dead, by_user, by_tag, children = KEYS[3], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[11], KEYS[12]

local ctx, refused = open()
if refused then return refused end
local driver, last_score, last_id = string.match(cursor, '^(%l+) (%d+) (%S+)$')
local indexed = user ~= '' or tag ~= '' or parent ~= ''
local set = ({ delayed = delayed, blocked = blocked, running = leases, stalled = leases, completed = finished,
  cancelled = finished, dead = dead })[state]
if state == 'ready' and (lane ~= '' or not indexed) then set = ready .. (lane ~= '' and lane or 'any') end
local named = { state = set, user = user ~= '' and by_user .. user or nil, tag = tag ~= '' and by_tag .. tag or nil,
  parent = parent ~= '' and children .. parent or nil }
if cursor ~= '' and not named[driver or ''] then
  return refuse('cursor', cursor, 'empty, or what the page before answered to the same filter')
end
if not set and not indexed then return refuse('state', state, 'a state, where no user, tag or parent is named') end

local from, start = nil, 0
if driver then
  from = named[driver]
  start = rank_after(from, last_score, last_id)
else
  driver, from = narrowest(named)
end
local function matches(record)
  return (user == '' or record.user == user) and (parent == '' or record.parent == parent)
    and (tag == '' or string.find(',' .. (record.tags or '') .. ',', ',' .. tag .. ',', 1, true))
    and (kind == '' or record.kind == kind) and (reason == '' or record.reason == reason)
    and (source == '' or record.source == source) and (lane == '' or (record.lane or 'any') == lane)
end

local page = redis.call('ZRANGE', from, start, start + 999, 'WITHSCORES')
local answers, bytes, last = {}, 0, -1
for i = 1, #page, 2 do
  if #answers == limit or bytes > 1048576 then break end
  local id, record, size = page[i], read_record(page[i])
  last = i
  if record and matches(record) then
    local held_in, score = from, page[i + 1]
    if driver ~= 'state' then held_in, score = find_set(id, record) end
    local found = state_of(ctx, held_in, score, record)
    if found and (state == 'all' or found == state) then
      bytes = bytes + 512 + size - #(record.error or '') - #(record.headers or '')
      record.error, record.headers = nil, nil
      answers[#answers + 1] = summarise(id, found, score, record)
    end
  end
end
local more = #page == 2000 or last + 1 < #page
return { 'ok', ctx.now, more and driver .. ' ' .. page[last + 1] .. ' ' .. page[last] or '', answers }
