#!lua flags=allow-oom
-- generated from lua/change/outbox.v1.lua by lua/bundle.py; do not edit
-- change.outbox.v1: the tasks that follow steps of changes and are not in the queue `queue` yet. The call first removes those that were
-- delivered, then answers what is due, and hides it for 30 s. Enqueue each under its `task_id`, with a new rid, and with the payload that
-- lua/README.md says. After `exists`, look at that task: if it has this kind and this payload, and is not older than `at_ms`, it is this
-- one. Then send outbox again with what was delivered, and as `taken` what has the id of another task: it gets another `task_id`, which
-- ends with `instead`, and is due at once. A task that comes twice does no harm while the queue remembers its id.
--
-- DATA   change  prefix/hash   {base}:change: name
-- DATA   logs    prefix/stream {base}:log:    name
-- DATA   due     zset          {base}:due
-- DATA   outbox  zset          {base}:outbox
-- DATA   follows hash          {base}:follows
-- DATA   config  hash          {base}:config
-- DATA   events  stream        {base}:events
-- ARGV   limit    int 0..100    ?=100
-- ARGV   source   bytes 0..200  ?=
-- ARGV   trace    bytes 0..128  ?=
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- ITEM   id       name
-- ITEM   seq      int 1..9000000000000
-- ITEM   taken.id name
-- ITEM   taken.seq int 1..9000000000000
-- ITEM   taken.instead name
-- GROUP  item     0..100
-- GROUP  taken    0..100
-- RETURN ok       now_ms:int queue:text left:int items:list(item)
-- EACH   item     follow id:id seq:int task_id:id event:text rev:int digest:text kind:label lane:lane priority:int at_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  change.alert
-- ROLE   apply
-- REPLAY goes_on
-- FLAGS  allow-oom
-- COST   3 + 3n commands; at most 1,000 commands, 11,000 steps

local LAYOUT = 1
local MAX_SAFE = 9007199254740991
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

local KEYS, ARGV = KEYS, ARGV
if #KEYS ~= 2 then
  return redis.error_reply('ADEQ_ARG expected 2 keys, got ' .. #KEYS)
end

do
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{change:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:change:[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{change:<name>}:config, <prefix>:{<slot>}:change:<name>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. '!apply' then return refuse('key gate', KEYS[2], arg_base .. '!apply') end
  KEYS = { arg_base .. ':change:', arg_base .. ':log:', arg_base .. ':due', arg_base .. ':outbox', arg_base .. ':follows', arg_base .. ':config', arg_base .. ':events' }
end

local limit = ARGV[1]
if limit == '' then
  limit = 100
else
  limit = arg_uint(limit, 0, 100)
  if not limit then return refuse('limit', ARGV[1], 'an integer from 0 to 100') end
end
local source = ARGV[2]
if not source or #source > 200 then
  return refuse('source', source and #source, '0 to 200 bytes long')
end
local trace = ARGV[3]
if not trace or #trace > 128 then
  return refuse('trace', trace and #trace, '0 to 128 bytes long')
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
item_count = arg_uint(item_count, 0, 100)
if not item_count then return refuse('item_count', ARGV[arg_at], 'an integer from 0 to 100') end
arg_at = arg_at + 1
local item_id, item_seq = arg_empty, arg_empty
if item_count > 0 then item_id, item_seq = {}, {} end
for i = 1, item_count do
  local v = ARGV[arg_at]
  if not v or #v > 100 or not arg_find(v, '^[%w._@+-]+$') then
    return refuse('item[' .. i .. '].id', v, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
  end
  item_id[i] = v
  v = ARGV[arg_at + 1]
  v = arg_uint(v, 1, 9000000000000)
  if not v then return refuse('item[' .. i .. '].seq', ARGV[arg_at + 1], 'an integer from 1 to 9000000000000') end
  item_seq[i] = v
  arg_at = arg_at + 2
end
local taken_count = ARGV[arg_at]
taken_count = arg_uint(taken_count, 0, 100)
if not taken_count then return refuse('taken_count', ARGV[arg_at], 'an integer from 0 to 100') end
arg_at = arg_at + 1
local taken_id, taken_seq, taken_instead = arg_empty, arg_empty, arg_empty
if taken_count > 0 then taken_id, taken_seq, taken_instead = {}, {}, {} end
for i = 1, taken_count do
  local v = ARGV[arg_at]
  if not v or #v > 100 or not arg_find(v, '^[%w._@+-]+$') then
    return refuse('taken[' .. i .. '].id', v, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
  end
  taken_id[i] = v
  v = ARGV[arg_at + 1]
  v = arg_uint(v, 1, 9000000000000)
  if not v then return refuse('taken[' .. i .. '].seq', ARGV[arg_at + 1], 'an integer from 1 to 9000000000000') end
  taken_seq[i] = v
  v = ARGV[arg_at + 2]
  if not v or #v > 100 or not arg_find(v, '^[%w._@+-]+$') then
    return refuse('taken[' .. i .. '].instead', v, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
  end
  taken_instead[i] = v
  arg_at = arg_at + 3
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end

local arg_rare

-- domain_name(): the name of the domain, from its keys.
local function domain_name() local config = KEYS[6]
  return string.match(config, '^.*[:{]([^:{}]+)}?:config$')
end

-- due_of(own): the earliest deadline of a change (ms), or MAX_SAFE.
-- EARLY
local function due_of(own)
  if own.state == 'applying' then return own.deadline_ms end
  if own.state == 'approved' then return own.until_ms end
  if own.state == 'submitted' then return own.timeout_at_ms end
  if own.state ~= 'reviewing' then return MAX_SAFE end
  local first = own.timeout_at_ms
  if own.escalate_at_ms > 0 then first = math.min(first, own.escalate_at_ms) end
  if own.remind_at_ms > 0 then first = math.min(first, own.remind_at_ms) end
  return first
end

-- emit(ctx, event, id, detail): add an entry to the stream, if the noun keeps events. detail: `name=value` words, or
-- ''. The trace is ctx.trace, that of the task, or else that of the call.
local function emit(ctx, event, id, detail) local events = KEYS[7]
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

-- read_clock(layout_min, clock, chosen): the time in ms, as a number and as text; or nil and the error to return, if
-- the layout of these scripts or the clock of the call does not fit the stored data. chosen: the clock of a base that
-- this call may create.
local function read_clock(layout_min, clock, chosen)
  if tonumber(layout_min or LAYOUT) > LAYOUT then
    return nil, redis.error_reply('ADEQ_LAYOUT this data needs scripts of layout ' .. layout_min
      .. ' or newer, these are of layout ' .. LAYOUT .. ': upgrade this client')
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'follow_queue', 'events_max')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_follow_queue = row[3], settings_events_max = tonumber(row[4] or 100000) }
end

-- set_field(own, name, value): change a field of a change; save_change stores it.
-- EARLY
local function set_field(own, name, value)
  own[name] = value
  own.changed[#own.changed + 1] = name
  own.changed[#own.changed + 1] = value
end

-- text_of(own, name): a field of a change that read_change does not read; '' if it is not stored.
-- EARLY
local function text_of(own, name) local change = KEYS[1]
  if own[name] == nil then own[name] = redis.call('HGET', change .. own.id, name) or '' end
  return own[name]
end

-- record_step(ctx, own, event, by, detail, why): note a step of a change in its log, as an event, and as its next `seq`. by: who did it;
-- detail: `name=value` words, or ''; why: free text for the log alone, or ''. What time, delegations, policies and deliveries do has no caller.
-- EARLY
local function record_step(ctx, own, event, by, detail, why) local logs = KEYS[2]
  local acts = by ~= 'time' and by ~= 'delegation' and by ~= 'delivery' and string.sub(by, 1, 7) ~= 'policy:'
  local sender = acts and ctx.caller or ''
  set_field(own, 'seq', own.seq + 1)
  redis.call('XADD', logs .. own.id, 'MAXLEN', 1000, '*', 'event', event, 'timestamp', ctx.now_text, 'rev', own.rev, 'round', own.round,
    'by', by, 'detail', detail, 'reason', why, 'proof', acts and ctx.proof or '', 'caller', sender)
  if text_of(own, 'p_follows') ~= '' then arg_rare().note_follow(ctx, own, event) end
  emit(ctx, event, own.id, 'rev=' .. own.rev .. ' round=' .. own.round .. ' by=' .. by .. (sender ~= '' and ' caller=' .. sender or '')
    .. (detail ~= '' and ' ' .. detail or ''))
end

-- save_change(ctx, own): store what this call has changed, and when the change is due next.
-- EARLY
local function save_change(ctx, own) local change, due = KEYS[1], KEYS[3]
  if own.list_changed then
    local words = {}
    for i, one in ipairs(own.list) do  -- at most 32: slots
      words[i] = one.slot .. ' ' .. one.status .. ' ' .. one.reviewer .. one.chain .. ' ' .. one.by .. (one.chain ~= '' and ' ' .. one.via or '')
    end
    set_field(own, 'slots', table.concat(words, ','))
  end
  if #own.changed == 0 then return end
  -- at most 200: two for each field that a step and what was due before it change
  redis.call('HSET', change .. own.id, 'updated_ms', ctx.now_text, unpack(own.changed))
  local next_ms = due_of(own)
  if next_ms ~= own.due_ms and next_ms == MAX_SAFE then
    redis.call('ZREM', due, own.id)
  elseif next_ms ~= own.due_ms then
    redis.call('ZADD', due, next_ms, own.id)
  end
end

local arg_made
function arg_rare()
  if arg_made then return arg_made end

-- put_out(ctx, follow): put a task into the outbox. The change is kept until it is delivered.
local function put_out(ctx, follow) local change, outbox, follows = KEYS[1], KEYS[4], KEYS[5]
  local name = follow.id .. ' ' .. follow.seq
  redis.call('ZADD', outbox, ctx.now_text, name)
  redis.call('HSET', follows, name, follow.text)
  redis.call('HINCRBY', change .. follow.id, 'undelivered', 1)
end

-- note_follow(ctx, own, event): the task that the policy wants after this step waits in the outbox; or, in a call that may enqueue it
-- itself, for the end of this call.
local function note_follow(ctx, own, event)
  local word = string.sub(event, 8)
  local wanted, lane, priority = string.match(';' .. text_of(own, 'p_follows'), ';' .. word .. '|([^|]*)|([^|]*)|(%d)')
  if not wanted then return end
  local follow = { id = own.id, seq = string.format('%.0f', own.seq),
    text = table.concat({ word, string.format('%.0f', own.rev), own.digest, wanted, lane, priority, ctx.now_text }, ' ') }
  if ctx.follows then
    ctx.follows[#ctx.follows + 1] = follow
  else
    put_out(ctx, follow)
  end
end

-- read_change(id, new): a change, with the fields that most calls need; or nil, or with `new` one without values. text_of and number_of
-- read others when they are needed (read_fields: many in one command), set_field notes what changes, and save_change stores it.
local function read_change(id, new) local change = KEYS[1]
  local row = redis.call('HMGET', change .. id, 'state', 'digest', 'slots', 'rev', 'round', 'seq', 'created_ms', 'timeout_at_ms',
    'remind_at_ms', 'escalate_at_ms', 'until_ms', 'deadline_ms', 'p_follows', 'p_required', 'p_rejections', 'p_contributors_may_vote')
  if not row[1] and not new then return nil end
  local own = {
    id = id, changed = {}, state = row[1] or '', digest = row[2] or '', slots = row[3] or '', rev = tonumber(row[4] or 0),
    round = tonumber(row[5] or 0), seq = tonumber(row[6] or 0), created_ms = tonumber(row[7] or 0), timeout_at_ms = tonumber(row[8] or 0),
    remind_at_ms = tonumber(row[9] or 0), escalate_at_ms = tonumber(row[10] or 0), until_ms = tonumber(row[11] or 0),
    deadline_ms = tonumber(row[12] or 0), p_follows = row[13] or '', p_required = row[14] or '', p_rejections = row[15] or '',
    p_contributors_may_vote = row[16] or '',
  }
  own.due_ms = due_of(own)
  return own
end

-- note_taken(ctx, id, taken, instead): another task has the id of one that follows a step, so this one gets another id. People should look.
local function note_taken(ctx, id, taken, instead)
  local own = read_change(id)
  if not own then return end
  record_step(ctx, own, 'change.alert', 'delivery', 'reason=follow_taken task=' .. taken .. ' instead=' .. instead, '')
  save_change(ctx, own)
end

  arg_made = { note_follow = note_follow, note_taken = note_taken }
  return arg_made
end

local change, outbox, follows = KEYS[1], KEYS[4], KEYS[5]

local ctx, refused = open()
if refused then return refused end
for i, name in ipairs(taken_instead) do  -- at most 100: taken
  if #name > 40 then return refuse('taken[' .. i .. '].instead', name, 'at most 40 characters') end
end
for i, id in ipairs(item_id) do
  local name = id .. ' ' .. string.format('%.0f', item_seq[i])
  if redis.call('HDEL', follows, name) == 1 then
    redis.call('ZREM', outbox, name)
    redis.call('HINCRBY', change .. id, 'undelivered', -1)
  end
end
local domain, items = domain_name(), {}
for i, id in ipairs(taken_id) do
  local name = id .. ' ' .. string.format('%.0f', taken_seq[i])
  local text = redis.call('HGET', follows, name) or ''
  local at = string.match(text, '^%S+ %S+ %S+ %S+ %S+ %S+ ?(%d*)$')  -- without one of an earlier call
  if at then
    redis.call('HSET', follows, name, text .. (at == '' and ' 0 ' or ' ') .. taken_instead[i])
    redis.call('ZADD', outbox, ctx.now_text, name)
    local task_id = domain .. '/' .. string.gsub(name, ' ', '/')
    arg_rare().note_taken(ctx, id, task_id, task_id .. '/' .. taken_instead[i])
  end
end
for _, name in ipairs(redis.call('ZRANGE', outbox, '-inf', ctx.now_text, 'BYSCORE', 'LIMIT', 0, limit)) do
  local id, seq = string.match(name, '^(%S+) (%d+)$')
  local word, rev, digest, kind, lane, priority, at, instead =
    string.match(redis.call('HGET', follows, name) or '', '^(%S+) (%d+) (%S+) (%S+) (%S+) (%d) ?(%d*) ?(%S*)$')
  if word then
    local task_id = domain .. '/' .. id .. '/' .. seq .. (instead ~= '' and '/' .. instead or '')
    items[#items + 1] = { 'follow', id, tonumber(seq), task_id, word, tonumber(rev), digest, kind, lane, tonumber(priority),
      tonumber(at) or 0 }
    redis.call('ZADD', outbox, ctx.now + 30000, name)
  else
    redis.call('ZREM', outbox, name)
  end
end
local line = ctx.settings_follow_queue
return { 'ok', ctx.now, line and line ~= 'none' and line or '', redis.call('ZCARD', outbox), items }
