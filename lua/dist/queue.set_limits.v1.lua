#!lua
-- generated from lua/queue/set_limits.v1.lua by lua/bundle.py; do not edit
-- queue.set_limits.v1: set how many tasks may run at a time, and how many may start per period: of a user, with a tag,
-- with a limit key, or of all. `user:*` applies to each user without a limit of their own, and so on. An item without
-- pairs removes the limit. `concurrency`: how many tasks run; `starts`: how many start in each `period_ms`, evenly,
-- after `burst` at once. `policy`: what happens to a task that may not start yet. It waits, `blocked`, at its place; or
-- it is dead; or it is cancelled; or, with cancel_oldest, the oldest running task is cancelled. Running tasks do not
-- count for a new limit. The next claim applies it, also to waiting tasks; if there are many limit queues, later claims
-- continue. `expect`: the digest of the rule that the caller has read, the first 16 hex digits of its SHA-1; `none` if
-- there was no rule. If one differs, the call is refused (`ADEQ_STALE`), and no limit is changed.
--
-- DATA   config      hash   {base}:config
-- DATA   once        hash   {base}:once
-- DATA   once_due    zset   {base}:once:due
-- DATA   limits      hash   {base}:limits
-- DATA   limit_lines zset   {base}:limit:lines
-- DATA   events      stream {base}:events
-- ARGV   rid       id
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   key       limit
-- PAIR   concurrency int 1..1000000
-- PAIR   starts    int 1..1000000
-- PAIR   period_ms int 1..2678400000
-- PAIR   burst     int 1..1000000
-- PAIR   policy    enum queue|reject|cancel_newest|cancel_oldest ?=queue
-- PAIR   expect    bytes 4..16
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      set
-- EACH   item      removed
-- EACH   item      unchanged
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK ADEQ_STALE
-- EVENT  limit.set limit.removed
-- ROLE   operate
-- REPLAY rid
-- COST   9 + 3n commands, n more with `expect`, O(n); at most 4,500 commands, 170,000 steps

local BAND = 281474976710656
local unpack = table.unpack or unpack
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
  if KEYS[2] ~= arg_base .. '!operate' then return refuse('key gate', KEYS[2], arg_base .. '!operate') end
  KEYS = { arg_base .. ':config', arg_base .. ':once', arg_base .. ':once:due', arg_base .. ':limits', arg_base .. ':limit:lines', arg_base .. ':events' }
end

local rid = ARGV[1]
if not rid or #rid > 200 or not arg_find(rid, '^[%w._:/@+-]+$') then
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
local item_key, item_pairs = {}, {}
local arg_seen_item
for i = 1, item_count do
  local v = ARGV[arg_at]
  v = arg_limit(v)
  if not v then return refuse('item[' .. i .. '].key', ARGV[arg_at], 'all, or user: or tag: and a label (1 to 200 bytes) or *, or key: and an id or *') end
  item_key[i] = v
  arg_at = arg_at + 1
  local size, entry = ARGV[arg_at], arg_empty
  arg_at = arg_at + 1
  if size ~= '0' then
    size = size and #size == 1 and arg_find('123456', size, 1, true) or arg_uint(size, 0, 6)
    if not size then return refuse('item[' .. i .. '].pairs', ARGV[arg_at - 1], 'an integer from 0 to 6') end
    arg_seen_item = arg_seen_item or {}
    local filled = 0
    for at = arg_at, arg_at + 2 * size - 2, 2 do
      local name, raw = ARGV[at], ARGV[at + 1]
      local v = raw
      if name == 'concurrency' then
        v = arg_uint(v, 1, 1000000)
        if not v then return refuse('item[' .. i .. '].concurrency', raw, 'an integer from 1 to 1000000') end
      elseif name == 'starts' then
        v = arg_uint(v, 1, 1000000)
        if not v then return refuse('item[' .. i .. '].starts', raw, 'an integer from 1 to 1000000') end
      elseif name == 'period_ms' then
        v = arg_uint(v, 1, 2678400000)
        if not v then return refuse('item[' .. i .. '].period_ms', raw, 'an integer from 1 to 2678400000') end
      elseif name == 'burst' then
        v = arg_uint(v, 1, 1000000)
        if not v then return refuse('item[' .. i .. '].burst', raw, 'an integer from 1 to 1000000') end
      elseif name == 'policy' then
        if raw == '' then
          v = nil
        else
          if v ~= 'queue' and v ~= 'reject' and v ~= 'cancel_newest' and v ~= 'cancel_oldest' then
            return refuse('item[' .. i .. '].policy', v, 'one of queue, reject, cancel_newest, cancel_oldest')
          end
          if v == 'queue' then v = nil end
        end
      elseif name == 'expect' then
        if not v or #v < 4 or #v > 16 then
          return refuse('item[' .. i .. '].expect', v and #v, '4 to 16 bytes long')
        end
      else
        return refuse('item[' .. i .. '].pairs', name, 'names from concurrency, starts, period_ms, burst, policy, expect')
      end
      if arg_seen_item[name] == i then
        return refuse('item[' .. i .. '].' .. name, 2, 'given at most once')
      end
      arg_seen_item[name] = i
      if v ~= nil then
        if filled == 0 then
          entry = { name, raw, [name] = v }
        else
          entry[filled + 1] = name
          entry[filled + 2] = raw
          entry[name] = v
        end
        filled = filled + 2
      end
    end
    arg_at = arg_at + 2 * size
  end
  item_pairs[i] = entry
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end

local arg_rare

-- done_before(ctx, verb): the answer that an earlier call with this verb and rid stored in the last minute, or nil.
local function done_before(ctx, verb) local once = KEYS[2]
  if rid == '' then return nil end
  local word, until_ms = string.match(redis.call('HGET', once, 'done:' .. verb .. ':' .. rid) or '', '^(%S+) (%d+)$')
  if word and tonumber(until_ms) > ctx.now then return word end
end

-- hold_once(ctx, field, id, keep_ms, stamp): make a key of `once` refer to a task, for keep_ms or, without keep_ms,
-- until it is released. stamp: that of the enqueue that made the task, if its record does not know the key; the key no
-- longer counts once that was purged.
local function hold_once(ctx, field, id, keep_ms, stamp) local once, once_due = KEYS[2], KEYS[3]
  if not keep_ms then
    redis.call('HSET', once, field, id)
    return
  end
  local until_text = string.format('%.0f', ctx.now + keep_ms)
  redis.call('HSET', once, field, id .. ' ' .. until_text .. (stamp and ' ' .. stamp or ''))
  redis.call('ZADD', once_due, until_text, field)
  ctx.held = (ctx.held or 0) + 1
end

-- sweep_once(ctx, limit): delete expired fields of `once`, at most limit. Returns the number.
local function sweep_once(ctx, limit) local once, once_due = KEYS[2], KEYS[3]
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'events_max', 'limits')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_events_max = tonumber(row[3] or 100000), settings_limits = tonumber(row[4] or 0) }
end

-- replayed_answers(ctx, verb, count): the answers to the same call of count items within the last minute, or nil.
local function replayed_answers(ctx, verb, count)
  local answers = {}
  for status, value in string.gmatch(done_before(ctx, verb) or '', '([^=,]+)=?([^,]*)') do
    answers[#answers + 1] = { status, value ~= '' and value or nil }
  end
  if #answers == count then return answers end
end

local arg_made
function arg_rare()
  if arg_made then return arg_made end

-- create_base(clock): store the layout and the clock of a new base. The clock is `test` or `server` (the default).
local function create_base(clock) local config = KEYS[1]
  redis.call('HSET', config, 'layout', 2, 'layout_min', 2, 'clock', clock == 'test' and 'test' or 'server')
end

-- digest_of(text): what `expect` compares: 16 hex digits; `none` if nothing is stored.
local function digest_of(text)
  return text and string.sub(redis.sha1hex(text), 1, 16) or 'none'
end

-- emit(ctx, event, id, detail): add an entry to the stream, if the noun keeps events. detail: `name=value` words, or
-- ''. The trace is ctx.trace, that of the task, or else that of the call.
local function emit(ctx, event, id, detail) local events = KEYS[6]
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

-- refuse_stale(label, expect, found): the error if what is stored is not what the caller has seen; nil if it is. Both are
-- digests.
local function refuse_stale(label, expect, found)
  if expect ~= found then
    return redis.error_reply('ADEQ_STALE ' .. label .. ': what is stored has the digest ' .. found)
  end
end

  arg_made = { create_base = create_base, digest_of = digest_of, emit = emit, refuse_stale = refuse_stale }
  return arg_made
end

local config, limits, limit_lines = KEYS[1], KEYS[4], KEYS[5]

local ctx, refused = open()
if refused then return refused end
local rules = {}
for i = 1, item_count do
  local own, label = item_pairs[i], 'item[' .. i .. '].'
  if not own.starts ~= not own.period_ms then
    return refuse(label .. 'period_ms', own.period_ms, 'given with starts, and only so')
  elseif own.burst and not own.starts then
    return refuse(label .. 'burst', own.burst, 'given with starts only')
  elseif own.starts and own.starts > 100 * own.period_ms then
    return refuse(label .. 'starts', own.starts, 'at most 100 for each ms of the period')
  elseif own.policy == 'cancel_oldest' and not own.concurrency then
    return refuse(label .. 'policy', own.policy, 'another one, where concurrency is not limited')
  elseif own.policy and not own.concurrency and not own.starts then
    return refuse(label .. 'policy', own.policy, 'given with concurrency or starts')
  end
  local interval_ms = own.starts and string.format('%.6f', own.period_ms / own.starts) or '0'
  rules[i] = (own.concurrency or own.starts) and string.format('%d %s %s %d', own.concurrency or 0, own.policy or 'queue',
    interval_ms, own.burst or own.starts or 1)
end

local answers = replayed_answers(ctx, 'set_limits', item_count)
if answers then return { 'ok', ctx.now, answers } end
answers = {}
for i, key in ipairs(item_key) do
  local expect = item_pairs[i].expect
  refused = expect and arg_rare().refuse_stale('item[' .. i .. '].expect', expect, arg_rare().digest_of(redis.call('HGET', limits, key)))
  if refused then return refused end
end
if not ctx.exists then arg_rare().create_base() end
local changed_ms, kinds, looks = 1, false, {}
for i, key in ipairs(item_key) do
  local old = redis.call('HGET', limits, key) or nil
  if old == rules[i] then
    answers[i] = { 'unchanged' }
  elseif rules[i] then
    answers[i] = { 'set' }
    redis.call('HSET', limits, key, rules[i])
    arg_rare().emit(ctx, 'limit.set', key, (string.gsub(rules[i], '^(%S+) (%S+) (%S+) (%S+)$',
      'concurrency=%1 policy=%2 interval_ms=%3 burst=%4')))
  else
    answers[i] = { 'removed' }
    redis.call('HDEL', limits, key)
    arg_rare().emit(ctx, 'limit.removed', key, '')
  end
  if answers[i][1] ~= 'unchanged' then
    if string.find(key, '*', 1, true) then
      kinds = true
    else
      looks[#looks + 1] = ctx.now - BAND
      looks[#looks + 1] = key
    end
  end
end
if looks[1] then redis.call('ZADD', limit_lines, 'XX', 'LT', unpack(looks)) end  -- at most 2,000: two for each item
if kinds then changed_ms = math.max(ctx.now, ctx.settings_limits + 1) end  -- lines of limits that were full by then are looked at
if kinds or ctx.settings_limits == 0 then redis.call('HSET', config, 'limits', string.format('%.0f', changed_ms)) end
note_answers(ctx, 'set_limits', answers)
return { 'ok', ctx.now, answers }
