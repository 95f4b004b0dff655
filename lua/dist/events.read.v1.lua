#!lua flags=allow-oom
-- generated from lua/events/read.v1.lua by lua/bundle.py; do not edit
-- events.read.v1: deliver events to a reader of a group: first those that were delivered before and not acknowledged in time, then new ones,
-- in order. Each is delivered again after `hold_ms` unless `ack` names it. So if a reader dies, or the answer is lost, another read gets
-- them. An answer ends at `limit` events, or when it passes 4 MiB. While 10,000 events are pending, no new ones are delivered.
-- `gap`: events that were trimmed before the group had read or acknowledged them. It is reported until `ack` names its number.
-- `lag`: how many events were not delivered yet. `due_ms`: when the next event is delivered again; 0: none is pending. `last`: the newest event
-- that was delivered to the group, so `XREAD BLOCK` can wait for the next.
-- Once an hour a read also trims old events, as `trim` does.
--
-- DATA   config   hash        {base}:events:config
-- DATA   groups   zset        {base}:events:groups
-- DATA   group_at prefix/hash {base}:events:group:   name
-- DATA   pending  prefix/zset {base}:events:pending: name
-- DATA   unacked  prefix/zset {base}:events:unacked: name
-- DATA   events   stream      {base}:events
-- ARGV   group    name
-- ARGV   limit    int 1..1000          ?=100
-- ARGV   hold_ms  int 1000..86400000   ?=60000
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int lag:int due_ms:int last:text gaps:list(gap) items:list(item)
-- RETURN unknown  now_ms:int
-- EACH   gap      gap   number:int from:text to:text lost:int
-- EACH   item     event id:text fields:pairs(event)
-- EACH   item     again id:text fields:pairs(event)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  group.gap group.lapsed
-- ROLE   follow
-- REPLAY goes_on
-- FLAGS  allow-oom
-- COST   10 commands, and 1 for each event that was delivered before; at most 1,200 commands, 78,000 steps

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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+:[%w._@+-]+}):events:config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:[%w._@+-]+:[%w._@+-]+):events:config$') or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+:[%w._@+-]+/[%w._@+-]+}):events:config$') or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:[%w._@+-]+:[%w._@+-]+/[%w._@+-]+):events:config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{<noun>:<name>}:events:config, <prefix>:{<slot>}:<noun>:<name>:events:config, <prefix>:{<noun>:<name>/<tag>}:events:config, <prefix>:{<slot>}:<noun>:<name>/<tag>:events:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. '!events.follow' then return refuse('key gate', KEYS[2], arg_base .. '!events.follow') end
  KEYS = { arg_base .. ':events:config', arg_base .. ':events:groups', arg_base .. ':events:group:', arg_base .. ':events:pending:', arg_base .. ':events:unacked:', arg_base .. ':events' }
end

local group = ARGV[1]
if not group or #group > 100 or not arg_find(group, '^[%w._@+-]+$') then
  return refuse('group', group, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
end
local limit = ARGV[2]
if limit == '' then
  limit = 100
else
  limit = arg_uint(limit, 1, 1000)
  if not limit then return refuse('limit', ARGV[2], 'an integer from 1 to 1000') end
end
local hold_ms = ARGV[3]
if hold_ms == '' then
  hold_ms = 60000
else
  hold_ms = arg_uint(hold_ms, 1000, 86400000)
  if not hold_ms then return refuse('hold_ms', ARGV[3], 'an integer from 1000 to 86400000') end
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

local arg_rare

-- add_event(answer, status, entry): add an event of the stream to an answer. Returns its id.
local function add_event(answer, status, entry)
  local fields = entry[2]
  for i = 1, #fields do answer.room = answer.room - #fields[i] end
  answer.items[#answer.items + 1] = { status, entry[1], fields }
  return entry[1]
end

-- deliver_new(ctx, own, answer): deliver events that the group has not seen, in order, as far as there is room.
local function deliver_new(ctx, own, answer) local pending, unacked, events = KEYS[4], KEYS[5], KEYS[6]
  local left = math.min(limit - #answer.items, 10000 - redis.call('ZCARD', pending .. group))
  local held, ages = {}, {}
  local until_text = string.format('%.0f', ctx.now + hold_ms)
  while left > 0 and answer.room > 0 do  -- at most 20: 50 events each. An event may have 300 KiB, so not all are read at once
    local entries = redis.call('XRANGE', events, '(' .. own.last, '+', 'COUNT', math.min(left, 50))
    for _, entry in ipairs(entries) do
      if answer.room <= 0 then break end
      own.last = add_event(answer, 'event', entry)
      held[#held + 1], ages[#ages + 1] = until_text, string.match(own.last, '^%d+')
      held[#held + 1], ages[#ages + 1] = own.last, own.last
      left = left - 1
    end
    if #entries < 50 then break end
  end
  if #held == 0 then return end
  own.seen, own.changed = own.seen + #held / 2, true
  redis.call('ZADD', pending .. group, unpack(held))  -- at most 2,000: two for each event of an answer
  redis.call('ZADD', unacked .. group, unpack(ages))
end

-- load_group(name): a registered group, or nil.
local function load_group(name) local group_at = KEYS[3]
  local row = redis.call('HMGET', group_at .. name, 'last', 'seen', 'read_ms', 'lapsed', 'lost', 'gap', 'gap_from', 'gap_to', 'gap_lost')
  if not row[1] then return nil end
  return {
    last = row[1], seen = tonumber(row[2]), read_ms = row[3], lapsed = row[4], lost = tonumber(row[5] or 0), gap = tonumber(row[6] or 0),
    gap_from = row[7] or '', gap_to = row[8] or '', gap_lost = tonumber(row[9] or 0),
  }
end

-- look_stream(): the stream of the events: `added` (how many were ever added), `length`, `removed` (how many are gone again), and the ids of
-- its `first` and `last` event; 0-0 where there is none.
local function look_stream() local events = KEYS[6]
  if redis.call('EXISTS', events) == 0 then return { added = 0, length = 0, removed = 0, first = '0-0', last = '0-0' } end
  local found, info = {}, redis.call('XINFO', 'STREAM', events)
  for i = 1, #info, 2 do found[info[i]] = info[i + 1] end
  local added, length = found['entries-added'], found['length']
  return {
    added = added, length = length, removed = math.max(0, added - length), first = found['recorded-first-entry-id'],
    last = found['last-generated-id'],
  }
end

-- lose_pending(own, begin): give up the pending events of a group that were trimmed: those before the first event of the stream, or all of
-- them if it is false. Nobody can read them again, so they belong to the gap that this read reports.
local function lose_pending(own, begin) local pending, unacked = KEYS[4], KEYS[5]
  local begin_ms, begin_number = string.match(begin or '', '^(%d+)-(%d+)$')
  begin_number = tonumber(begin_number or nil)
  local lost, from, from_ms, from_number, to, to_ms, to_number = {}, nil, nil, nil, nil, nil, nil
  local before = redis.call('ZRANGE', unacked .. group, '-inf', begin_ms or '+inf', 'BYSCORE', 'LIMIT', 0, 10000)  -- all: no more are pending
  for _, id in ipairs(before) do
    local ms, number = string.match(id, '^(%d+)-(%d+)$')
    number = tonumber(number)
    if ms ~= begin_ms or number < begin_number then
      lost[#lost + 1] = id
      -- The set has them by their first part. Those of one millisecond are in the order of texts.
      if not from or (ms == from_ms and number < from_number) then from, from_ms, from_number = id, ms, number end
      if ms ~= to_ms or number > to_number then to, to_ms, to_number = id, ms, number end
    end
  end
  for first = 1, #lost, 7000 do
    redis.call('ZREM', pending .. group, unpack(lost, first, math.min(first + 6999, #lost)))
    redis.call('ZREM', unacked .. group, unpack(lost, first, math.min(first + 6999, #lost)))
  end
  if from then arg_rare().add_gap(own, from, to, #lost) end
end

-- note_trimmed(own, stream): note a gap if events were trimmed that the group has not read, or not acknowledged. Events are counted from the
-- first that was ever added, so the difference says how many were not read.
local function note_trimmed(own, stream)
  local after, anew = stream.length > 0 and stream.first or stream.last, own.seen > stream.added
  lose_pending(own, not anew and stream.length > 0 and stream.first)
  if anew then  -- the stream was deleted, and has begun anew
    arg_rare().add_gap(own, own.last, after, 0)
    own.last, own.seen = '0-0', stream.removed
  elseif stream.removed > own.seen then
    arg_rare().add_gap(own, own.last, after, stream.removed - own.seen)
    own.seen = stream.removed
  end
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
local function open(clock, row) local config = KEYS[1]
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'keep_ms', 'lapse_ms', 'swept_ms', 'noun_keep_ms')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_keep_ms = tonumber(row[3] or 604800000), settings_lapse_ms = tonumber(row[4] or 604800000), settings_swept_ms = tonumber(row[5] or 0), settings_noun_keep_ms = tonumber(row[6] or 0) }
end

-- store_group(ctx, own): store what a read has changed, and at least once a minute that the group has a reader. Then the noun does not trim
-- its events by age until the group would lapse.
local function store_group(ctx, own) local group_at = KEYS[3]
  local since = ctx.now - tonumber(own.read_ms)
  local late = own.lapsed == '1' or since < 0 or since >= math.min(60000, ctx.settings_lapse_ms / 10)  -- below 0: a clock was set back
  if not own.changed and not late then return end
  local stored = { 'last', own.last, 'seen', own.seen, 'read_ms', late and ctx.now_text or own.read_ms, 'lost', own.lost }
  if own.gap_from ~= '' then
    for i, word in ipairs({ 'gap', own.gap, 'gap_from', own.gap_from, 'gap_to', own.gap_to, 'gap_lost', own.gap_lost }) do
      stored[8 + i] = word
    end
  end
  redis.call('HSET', group_at .. group, unpack(stored))  -- at most 16: fields of a group
  if own.lapsed == '1' then redis.call('HDEL', group_at .. group, 'lapsed') end
  if late then arg_rare().hold_events(ctx, ctx.settings_lapse_ms) end
end

-- take_over(ctx, own, answer): deliver events again that were not acknowledged in time, at most `limit`. Those that were trimmed meanwhile
-- are lost to the group.
local function take_over(ctx, own, answer) local pending, unacked, events = KEYS[4], KEYS[5], KEYS[6]
  local due = redis.call('ZRANGE', pending .. group, '-inf', ctx.now_text, 'BYSCORE', 'LIMIT', 0, limit)
  local held, gone = {}, {}
  for _, id in ipairs(due) do
    if answer.room <= 0 then break end
    local entry = redis.call('XRANGE', events, id, id, 'COUNT', 1)[1]
    if entry then
      held[#held + 1] = string.format('%.0f', ctx.now + hold_ms)
      held[#held + 1] = add_event(answer, 'again', entry)
    else
      gone[#gone + 1] = id
      arg_rare().add_gap(own, id, id, 1)
    end
  end
  if #held > 0 then redis.call('ZADD', pending .. group, unpack(held)) end  -- at most 2,000: two for each event of an answer
  if #gone > 0 then
    redis.call('ZREM', pending .. group, unpack(gone))  -- at most 1,000: events of an answer
    redis.call('ZREM', unacked .. group, unpack(gone))
  end
end

local arg_made
function arg_rare()
  if arg_made then return arg_made end

-- is_before(one, other): whether an id of the stream is smaller than another.
local function is_before(one, other)
  local ms, number = string.match(one, '^(%d+)-(%d+)$')
  local other_ms, other_number = string.match(other, '^(%d+)-(%d+)$')
  if ms == other_ms then return tonumber(number) < tonumber(other_number) end
  return tonumber(ms) < tonumber(other_ms)
end

-- add_gap(own, from, to, lost): note that a group has lost events between two ids. All that it loses until it acknowledges the gap is one gap.
-- lost: how many; 0 if that is not known.
local function add_gap(own, from, to, lost)
  own.gap, own.lost, own.changed = own.gap + 1, own.lost + lost, true
  if own.gap_from == '' then
    own.gap_from, own.gap_to, own.gap_lost, own.fresh_gap = from, to, lost, true
    return
  end
  if is_before(from, own.gap_from) then own.gap_from = from end
  if is_before(own.gap_to, to) then own.gap_to = to end
  own.gap_lost = lost > 0 and own.gap_lost > 0 and own.gap_lost + lost or 0
end

-- emit_group(ctx, event, name, detail): add an event about a group to the stream, if there is one; returns its id, or false. The next
-- event of the noun trims the stream to the bound of memory.
local function emit_group(ctx, event, name, detail) local events = KEYS[6]
  local entry = { 'event', event, 'timestamp', ctx.now_text, 'id', name }
  if detail ~= '' then entry[7], entry[8] = 'payload', detail end
  return redis.call('XADD', events, 'NOMKSTREAM', '*', unpack(entry))  -- at most 8: fields of an event
end

-- has_lapsed(ctx, own): whether no reader came for so long that the group holds no events.
local function has_lapsed(ctx, own)
  return own.lapsed == '1' or ctx.now - tonumber(own.read_ms) >= ctx.settings_lapse_ms
end

-- hold_events(ctx, lapse_ms): note that a group may hold events until it lapses. Until then the noun does not trim them by age: reads do.
local function hold_events(ctx, lapse_ms) local config = KEYS[1]
  redis.call('HSET', config, 'held_ms', string.format('%.0f', ctx.now + lapse_ms))
end

-- sweep_events(ctx, floor): delete events that are older than floor (ms), and not held by a group. It deletes
-- whole blocks, which costs almost nothing. Groups without a reader lapse first. Returns how many events were deleted, whether more may be
-- left, and which group holds the rest.
local function sweep_events(ctx, floor) local config, groups, group_at, unacked, events = KEYS[1], KEYS[2], KEYS[3], KEYS[5], KEYS[6]
  local held_by = ''
  for _, name in ipairs(redis.call('ZRANGE', groups, 0, 99)) do  -- at most 100: groups
    local row = redis.call('HMGET', group_at .. name, 'last', 'read_ms', 'lapsed')
    local own = { last = row[1] or '0-0', read_ms = row[2] or '0', lapsed = row[3] }
    if has_lapsed(ctx, own) then
      if own.lapsed ~= '1' then
        redis.call('HSET', group_at .. name, 'lapsed', '1')
        emit_group(ctx, 'group.lapsed', name, '')
      end
    else
      local oldest = redis.call('ZRANGE', unacked .. name, 0, 0, 'WITHSCORES')[2]
      local from = tonumber(oldest or string.match(own.last, '^%d+'))
      if from < floor then floor, held_by = from, name end
    end
  end
  if floor <= 0 then return 0, false, held_by end
  local removed = redis.call('XTRIM', events, 'MINID', '~', string.format('%.0f', floor))  -- at most 100 blocks of 100 events
  if removed == 0 then redis.call('HSET', config, 'swept_ms', ctx.now_text) end
  return removed, removed > 0, held_by
end

  arg_made = { add_gap = add_gap, emit_group = emit_group, hold_events = hold_events, sweep_events = sweep_events }
  return arg_made
end

local pending = KEYS[4]

local ctx, refused = open()
if refused then return refused end
local own = load_group(group)
if not own then return { 'unknown', ctx.now } end

local stream = look_stream()
note_trimmed(own, stream)
local answer = { items = {}, room = 4194304 }
take_over(ctx, own, answer)
deliver_new(ctx, own, answer)

if own.fresh_gap then
  local detail = string.format('from=%s to=%s lost=%.0f', own.gap_from, own.gap_to, own.gap_lost)
  if arg_rare().emit_group(ctx, 'group.gap', group, detail) then stream.added = stream.added + 1 end
end
store_group(ctx, own)
if math.abs(ctx.now - ctx.settings_swept_ms) >= 3600000 then  -- a clock may be set back
  local keep_ms = ctx.settings_noun_keep_ms
  arg_rare().sweep_events(ctx, ctx.now - (keep_ms > 0 and keep_ms or ctx.settings_keep_ms))
end

local gaps = {}
if own.gap_from ~= '' then gaps[1] = { 'gap', own.gap, own.gap_from, own.gap_to, own.gap_lost } end
local next_due = redis.call('ZRANGE', pending .. group, 0, 0, 'WITHSCORES')
return { 'ok', ctx.now, math.max(0, stream.added - own.seen), tonumber(next_due[2] or 0), own.last, gaps, answer.items }
