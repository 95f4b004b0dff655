#!lua
-- generated from lua/queue/retry.v1.lua by lua/bundle.py; do not edit
-- queue.retry.v1: make dead tasks ready again, behind all others: attempts and crashes count from 0, and they no longer
-- expire. `conflict` names the task that has the same unique key or scope now. If the same call is sent again, it
-- returns the same answer.
--
-- DATA   config    hash        {base}:config
-- DATA   task      prefix/hash {base}:task:     id
-- DATA   ready     prefix/zset {base}:ready:    lane
-- DATA   lanes     set         {base}:lanes
-- DATA   wake      prefix/list {base}:wake:     lane
-- DATA   deadlines zset        {base}:deadlines
-- DATA   dead      zset        {base}:dead
-- DATA   once      hash        {base}:once
-- DATA   once_due  zset        {base}:once:due
-- DATA   weights   hash        {base}:weights
-- DATA   shares    prefix/zset {base}:shares:   lane
-- DATA   counters  hash        {base}:counters
-- DATA   events    stream      {base}:events
-- ARGV   rid       id            ?=
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      retried
-- EACH   item      conflict id:id
-- EACH   item      not_dead
-- EACH   item      not_found
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.retried
-- ROLE   operate
-- REPLAY rid
-- COST   12 + 6n commands, 1 more with fair shares and 2 for each user, O(n log m); at most 17,000 commands, 98,000 steps

local MAX_SAFE = 9007199254740991
local BAND = 281474976710656
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
  if KEYS[2] ~= arg_base .. '!operate' then return refuse('key gate', KEYS[2], arg_base .. '!operate') end
  KEYS = { arg_base .. ':config', arg_base .. ':task:', arg_base .. ':ready:', arg_base .. ':lanes', arg_base .. ':wake:', arg_base .. ':deadlines', arg_base .. ':dead', arg_base .. ':once', arg_base .. ':once:due', arg_base .. ':weights', arg_base .. ':shares:', arg_base .. ':counters', arg_base .. ':events' }
end

local rid = ARGV[1]
if rid ~= '' and (not rid or #rid > 200 or not arg_find(rid, '^[%w._:/@+-]+$')) then
  return refuse('rid', rid, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local trace = ARGV[2]
if not trace or #trace > 128 then
  return refuse('trace', trace and #trace, '0 to 128 bytes long')
end
local source = ARGV[3]
if not source or #source > 200 then
  return refuse('source', source and #source, '0 to 200 bytes long')
end
local now_ms = ARGV[4]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9007199254740991)
  if not now_ms then return refuse('now_ms', ARGV[4], 'an integer from 0 to 9007199254740991') end
end
local arg_at = 5
local item_count = ARGV[arg_at]
item_count = arg_uint(item_count, 1, 1000)
if not item_count then return refuse('item_count', ARGV[arg_at], 'an integer from 1 to 1000') end
arg_at = arg_at + 1
local item_id = {}
for i = 1, item_count do
  local v = ARGV[arg_at]
  if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
    return refuse('item[' .. i .. '].id', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
  end
  item_id[i] = v
  arg_at = arg_at + 1
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end

local arg_rare

-- add_count(ctx, name, n): count in this call; write_counts stores it.
local function add_count(ctx, name, n)
  ctx.counts[name] = (ctx.counts[name] or 0) + n
end

-- push_due(lane): push a wake-up token for a due time within the next 10 s (the longest block), because blocked workers
-- do not know this time. The worker that takes the token claims, sees next_ms, and blocks until then. Also pushed while
-- the queue is paused. It expires after 60 s, but a token for ready tasks does not.
local function push_due(lane) local wake = KEYS[5]
  if redis.call('EXISTS', wake .. lane) == 0 then
    redis.call('LPUSH', wake .. lane, '1')
    redis.call('PEXPIRE', wake .. lane, 60000)
  else
    redis.call('PEXPIRE', wake .. lane, 60000, 'XX')
  end
end

-- await_deadline(ctx, id, since_ms, due): store the next deadline of a waiting task: its move to the next lane (or
-- its failure in the last lane), counted from since_ms, or its expiry if it was never leased; the earlier one. due: a
-- list for the ZADD of the caller.
local function await_deadline(ctx, id, since_ms, due) local task, deadlines = KEYS[2], KEYS[6]
  local own = redis.call('HMGET', task .. id, 'fallback_after_ms', 'fallback', 'expires_at_ms', 'deliveries')
  local at_ms = MAX_SAFE
  if own[1] then
    at_ms = since_ms + own[1]
    if at_ms - ctx.now < 10000 then
      for lane in string.gmatch(own[2] or '', '[^,]+') do push_due(lane) end  -- nobody may serve the first
    end
  end
  if own[3] and not own[4] then at_ms = math.min(at_ms, tonumber(own[3])) end
  if at_ms == MAX_SAFE then return end
  if due then
    due[#due + 1] = string.format('%.0f', at_ms)
    due[#due + 1] = id
  else
    redis.call('ZADD', deadlines, string.format('%.0f', at_ms), id)
  end
end

-- done_before(ctx, verb): the answer that an earlier call with this verb and rid stored in the last minute, or nil.
local function done_before(ctx, verb) local once = KEYS[8]
  if rid == '' then return nil end
  local word, until_ms = string.match(redis.call('HGET', once, 'done:' .. verb .. ':' .. rid) or '', '^(%S+) (%d+)$')
  if word and tonumber(until_ms) > ctx.now then return word end
end

-- emit(ctx, event, id, detail): add an entry to the stream, if the noun keeps events. detail: `name=value` words, or
-- ''. The trace is ctx.trace, that of the task, or else that of the call.
local function emit(ctx, event, id, detail) local events = KEYS[13]
  if ctx.settings_events_max == 0 then return end
  local source = ctx.restricted and '' or source  -- of the call: it is also that of a new task, and its tier may hide it
  if detail ~= '' and source == '' and trace == '' and not ctx.trace then
    redis.call('XADD', events, 'MAXLEN', '~', ctx.settings_events_max, '*', 'event', event, 'timestamp', ctx.now_text, 'id', id,
      'payload', detail)
    return
  end
  local entry = { 'event', event, 'timestamp', ctx.now_text, 'id', id }
  if detail ~= '' then entry[7], entry[8] = 'payload', detail end
  if source ~= '' then entry[#entry + 1] = 'source'; entry[#entry + 1] = source end
  local traced = ctx.trace or trace
  if traced ~= '' then entry[#entry + 1] = 'trace'; entry[#entry + 1] = traced end
  redis.call('XADD', events, 'MAXLEN', '~', ctx.settings_events_max, '*', unpack(entry))  -- at most 12: fields of an event
end

-- hold_once(ctx, field, id, keep_ms, stamp): make a key of `once` refer to a task, for keep_ms or, without keep_ms,
-- until it is released. stamp: that of the enqueue that made the task, if its record does not know the key; the key no
-- longer counts once that was purged.
local function hold_once(ctx, field, id, keep_ms, stamp) local once, once_due = KEYS[8], KEYS[9]
  if not keep_ms then
    redis.call('HSET', once, field, id)
    return
  end
  local until_text = string.format('%.0f', ctx.now + keep_ms)
  redis.call('HSET', once, field, id .. ' ' .. until_text .. (stamp and ' ' .. stamp or ''))
  redis.call('ZADD', once_due, until_text, field)
  ctx.held = (ctx.held or 0) + 1
end

-- holder_of(id, field): the id of another task that holds this key, or nil.
local function holder_of(id, field) local task, once = KEYS[2], KEYS[8]
  local holder = field and redis.call('HGET', once, field)
  if holder and holder ~= id and redis.call('HEXISTS', task .. holder, 'created_ms') == 1 then return holder end
end

-- line_up(by_lane, lane, score, id): note a task for make_ready.
-- EARLY
local function line_up(by_lane, lane, score, id)
  local members = by_lane[lane]
  if not members then
    members = {}
    by_lane[lane] = members
  end
  members[#members + 1] = score
  members[#members + 1] = id
end

-- push_wake(ctx, lane, was_empty): push a wake-up token for a blocked worker, unless the queue is paused. One is enough: it
-- is a hint, not a task.
-- was_empty: the lane may have been empty. Then its token may be for a due time, and must not expire any more.
local function push_wake(ctx, lane, was_empty) local wake = KEYS[5]
  if (ctx.mode or ctx.settings_mode) == 'paused' then return was_empty and redis.call('PERSIST', wake .. lane) end
  if redis.call('EXISTS', wake .. lane) == 0 then redis.call('LPUSH', wake .. lane, '1') elseif was_empty then redis.call('PERSIST', wake .. lane) end
end

-- make_ready(ctx, by_lane): put tasks into their lanes and wake a worker for each lane. by_lane[lane] = { score, id,
-- score, id, … } (line_up). The shares of a lane with waiting tasks do not expire.
local function make_ready(ctx, by_lane) local ready, lanes, shares = KEYS[3], KEYS[4], KEYS[11]
  local names, begun = {}, 0
  for lane, members in pairs(by_lane) do
    names[#names + 1] = lane
    for first = 1, #members, 7000 do
      redis.call('ZADD', ready .. lane, unpack(members, first, math.min(first + 6999, #members)))
    end
    if ctx.settings_fair > 0 then redis.call('PERSIST', shares .. lane) end
  end
  for first = 1, #names, 7000 do
    begun = begun + redis.call('SADD', lanes, unpack(names, first, math.min(first + 6999, #names)))
  end
  for _, lane in ipairs(names) do push_wake(ctx, lane, begun > 0) end
end

-- sweep_once(ctx, limit): delete expired fields of `once`, at most limit. Returns the number.
local function sweep_once(ctx, limit) local once, once_due = KEYS[8], KEYS[9]
  local fields = redis.call('ZRANGE', once_due, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, limit)
  if #fields == 0 then return 0 end
  -- at most 4,010: limit, as add_tasks gives it for 1,000 items
  redis.call('ZREM', once_due, unpack(fields))
  redis.call('HDEL', once, unpack(fields))
  return #fields
end

-- note_done(ctx, verb, word): leave a word for this call, in case it is sent again: a late copy must not undo what came
-- after it.
local function note_done(ctx, verb, word)
  if rid == '' then return end
  hold_once(ctx, 'done:' .. verb .. ':' .. rid, word, 60000)
  sweep_once(ctx, 10)
end

-- note_answers(ctx, verb, answers): store the answers of this call. If the call is repeated, replayed_answers returns
-- them.
-- EARLY
local function note_answers(ctx, verb, answers)
  local words = {}
  for i, answer in ipairs(answers) do words[i] = table.concat(answer, '=') end
  note_done(ctx, verb, table.concat(words, ','))
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'events_max', 'fair', 'mode', 'fair_top')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_events_max = tonumber(row[3] or 100000), settings_fair = tonumber(row[4] or 0), settings_mode = row[5], settings_fair_top = tonumber(row[6] or 0), counts = {} }
end

-- replayed_answers(ctx, verb, count): the answers to the same call of count items within the last minute, or nil.
local function replayed_answers(ctx, verb, count)
  local answers = {}
  for status, value in string.gmatch(done_before(ctx, verb) or '', '([^=,]+)=?([^,]*)') do
    answers[#answers + 1] = { status, value ~= '' and value or nil }
  end
  if #answers == count then return answers end
end

-- revive_task(ctx, id, unique, scope): give a dead task a new start: remove it from `dead`, reset its attempts and
-- crashes, and store its unique key and scope again.
-- EARLY
local function revive_task(ctx, id, unique, scope) local task, dead = KEYS[2], KEYS[7]
  redis.call('ZREM', dead, id)
  redis.call('HDEL', task .. id, 'attempts', 'crashes', 'expires_at_ms', 'reason', 'error', 'exit_code',
    'progress_ppm', 'progress_text', 'limited_by')  -- which older versions of these scripts left
  if unique then hold_once(ctx, 'unique:' .. unique, id) end
  if scope then hold_once(ctx, 'scope:' .. scope, id) end
end

-- write_counts(ctx): add what this call has counted to the totals, once a call and not once a task. A number is added to its counter,
-- a table of buckets to one counter for each bucket, and the sum of its values to another.
local function write_counts(ctx) local counters = KEYS[12]
  for name, counted in pairs(ctx.counts) do
    if type(counted) == 'number' then
      redis.call('HINCRBY', counters, name, counted)
    else
      for bound, n in pairs(counted) do
        -- HMGET and HSET for all counters of the call would take 5 % more instructions: each name is searched in the hash.
        redis.call('HINCRBY', counters, bound == 'sum' and name .. '_sum' or name .. ':' .. bound, n)
      end
    end
  end
end

local arg_made
function arg_rare()
  if arg_made then return arg_made end

-- share_place(ctx, lane, user, band): the place of a user's next task with fair shares: the place claimed last in this
-- lane and band, or the end of the user's previous task if that is later. A task of a user with weight 100 % lasts
-- 1,000. config.fair_top is kept above all places, for the case that fair shares are switched off.
local function share_place(ctx, lane, user, band) local config, weights, shares = KEYS[1], KEYS[10], KEYS[11]
  local name = lane .. ' ' .. band .. user
  ctx.shares = ctx.shares or {}
  local own = ctx.shares[name]
  if not own then
    local row = redis.call('ZMSCORE', shares .. lane, band .. ' claimed', band .. user)
    local weight_pct = user ~= '' and redis.call('HGET', weights, user) or 100
    local from = math.max(ctx.settings_fair, row[1] and row[1] % BAND or 0)
    own = { place = math.max(from, row[2] and row[2] % BAND or 0), lasts = math.ceil(100000 / weight_pct) }
    ctx.shares[name] = own
  end
  local place = own.place
  own.place = place + own.lasts
  redis.call('ZADD', shares .. lane, string.format('%.0f', band * BAND + own.place), band .. user)
  if own.place > (ctx.fair_top or ctx.settings_fair_top) then
    ctx.fair_top = own.place + 1000000
    redis.call('HSET', config, 'fair_top', string.format('%.0f', ctx.fair_top))
  end
  return place
end

-- line_up_last(ctx, by_lane, id, place, lane, priority, user): note a task for make_ready, behind all others of its lane and
-- priority, and of its user with fair shares. place: a new place, for queues without fair shares.
local function line_up_last(ctx, by_lane, id, place, lane, priority, user) local task = KEYS[2]
  lane = lane or 'any'
  local band = tonumber(priority or 5)
  if ctx.settings_fair > 0 then place = share_place(ctx, lane, user or '', band) end
  redis.call('HSET', task .. id, 'ready_ms', ctx.now_text)
  line_up(by_lane, lane, band * BAND + place, id)
end

  arg_made = { line_up_last = line_up_last }
  return arg_made
end

local config, task, dead = KEYS[1], KEYS[2], KEYS[7]

local ctx, refused = open()
if refused then return refused end

local answers, by_lane, retried = replayed_answers(ctx, 'retry', item_count), {}, 0
if answers then return { 'ok', ctx.now, answers } end
answers = {}
local place = redis.call('HINCRBY', config, 'place', item_count) - item_count
for i = 1, item_count do
  local id = item_id[i]
  local row = redis.call('HMGET', task .. id, 'created_ms', 'unique', 'scope', 'lane', 'priority', 'ties', 'user')
  local holder = holder_of(id, row[2] and 'unique:' .. row[2]) or holder_of(id, row[3] and 'scope:' .. row[3])
  if not row[1] then
    answers[i] = { 'not_found' }
  elseif not redis.call('ZSCORE', dead, id) then
    answers[i] = { 'not_dead' }
  elseif holder then
    answers[i] = { 'conflict', holder }
  else
    answers[i], retried = { 'retried' }, retried + 1
    revive_task(ctx, id, row[2], row[3])
    arg_rare().line_up_last(ctx, by_lane, id, place + i, row[4], row[5], row[7])
    if row[6] then await_deadline(ctx, id, ctx.now) end
    emit(ctx, 'task.retried', id, 'reason=by_hand')
  end
end
note_answers(ctx, 'retry', answers)
make_ready(ctx, by_lane)
if retried > 0 then add_count(ctx, 'revived', retried) end
write_counts(ctx)
return { 'ok', ctx.now, answers }
