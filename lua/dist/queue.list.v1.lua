#!lua flags=no-writes
-- generated from lua/queue/list.v1.lua by lua/bundle.py; do not edit
-- queue.list.v1: a page of the tasks in one state, in the order of their set, without payload, result, error and headers.
-- `cursor` is what the last page answered, '' to begin; an empty cursor in the answer means that there is no more. A page
-- may hold fewer than limit, and stops at 1 MiB. Where the last task of a page has gone, the next page may repeat those
-- of the same score. Ready tasks are listed by lane.
--
-- KEYS   config    hash          {base}:config
-- KEYS   running   hash          {base}:running
-- KEYS   leases    zset          {base}:leases
-- KEYS   task      prefix/hash   {base}:task:     id
-- KEYS   ready     prefix/zset   {base}:ready:    lane
-- KEYS   delayed   zset          {base}:delayed
-- KEYS   blocked   zset          {base}:blocked
-- KEYS   finished  zset          {base}:finished
-- KEYS   dead      zset          {base}:dead
-- ARGV   state     enum ready|delayed|blocked|running|stalled|completed|cancelled|dead
-- ARGV   lane      lane          ?=any
-- ARGV   cursor    bytes 0..256  ?=
-- ARGV   limit     int 1..1000   ?=100
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int cursor:text items:list(item)
-- EACH   item      found id:id state:text at_ms:int place:int record:pairs
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   3 + 2n commands, O(n + log m)
-- INCLUDE open_queue read_record state_of summarise

local LAYOUT = 1
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
  if not v or #v > 16 or (#v > 1 and not arg_find(v, '^%d+$')) then return nil end
  local n = tonumber(v)
  if n and n >= min and n <= max then return n end
end
local function arg_lane(v)
  if not v or v == 'any' then return v end
  local group, rest = string.match(v, '^group/([%w._@+-]+)(.*)$')
  if not group or #group > 100 then return nil end
  if rest == '' then return v end
  local inst = string.match(rest, '^/inst/([%w._@+-]+)$')
  if inst and #inst <= 100 then return v end
end

if #KEYS ~= 9 then
  return redis.error_reply('ADEQ_ARG expected 9 keys, got ' .. #KEYS)
end
local config = KEYS[1]
local running = KEYS[2]
local leases = KEYS[3]
local task = KEYS[4]
local ready = KEYS[5]
local delayed = KEYS[6]
local blocked = KEYS[7]
local finished = KEYS[8]
local dead = KEYS[9]

local state = ARGV[1]
if state ~= 'ready' and state ~= 'delayed' and state ~= 'blocked' and state ~= 'running' and state ~= 'stalled' and state ~= 'completed' and state ~= 'cancelled' and state ~= 'dead' then
  return refuse('state', state, 'one of ready, delayed, blocked, running, stalled, completed, cancelled, dead')
end
local lane = ARGV[2]
if lane == '' then
  lane = 'any'
else
  lane = arg_lane(lane)
  if not lane then return refuse('lane', ARGV[2], 'any, group/<name> or group/<name>/inst/<name>') end
end
local cursor = ARGV[3]
if not cursor or #cursor > 256 then
  return refuse('cursor', cursor and #cursor, '0 to 256 bytes long')
end
local limit = ARGV[4]
if limit == '' then
  limit = 100
else
  limit = arg_uint(limit, 1, 1000)
  if not limit then return refuse('limit', ARGV[4], 'an integer from 1 to 1000') end
end
local now_ms = ARGV[5]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9007199254740991)
  if not now_ms then return refuse('now_ms', ARGV[5], 'an integer from 0 to 9007199254740991') end
end
if #ARGV ~= 5 then
  return redis.error_reply('ADEQ_ARG expected 5 arguments, got ' .. #ARGV)
end

-- open_queue(): what every call needs of the queue's settings, and the time; or nil and the error to answer with.
-- NEEDS config now_ms
local function open_queue()
  local row = redis.call('HMGET', config, 'layout_min', 'clock', 'lease_ms', 'events_max')
  if tonumber(row[1] or LAYOUT) > LAYOUT then
    return nil, redis.error_reply('ADEQ_LAYOUT this queue needs scripts of layout ' .. row[1]
      .. ' or newer, these are of layout ' .. LAYOUT .. ': upgrade this client')
  end
  if (row[2] == 'test') ~= (now_ms > 0) then
    return nil, redis.error_reply('ADEQ_CLOCK now_ms must be '
      .. (row[2] == 'test' and 'sent: this queue was created with clock=test'
        or '0: this queue was not created with clock=test'))
  end
  local now = now_ms
  if now == 0 then
    local time = redis.call('TIME')
    now = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  return {
    exists = row[1],
    now = now,
    now_text = string.format('%.0f', now),
    lease_ms = tonumber(row[3] or 15000),
    events_max = row[4] or '100000',
  }
end

-- read_record(id): the record of a task as a table by name, and how many bytes its values have; nil if there is none.
-- NEEDS task
local function read_record(id)
  local flat, record, bytes = redis.call('HGETALL', task .. id), {}, 0
  if #flat == 0 then return nil, 0 end
  for f = 1, #flat, 2 do
    record[flat[f]] = flat[f + 1]
    bytes = bytes + #flat[f + 1]
  end
  return record, bytes
end

-- state_of(conf, set, score, record): the state of a task by the set it is in; nil if it is in none.
-- NEEDS delayed blocked leases finished dead
local function state_of(conf, set, score, record)
  if not set then return nil end
  if set == leases then return tonumber(score) > conf.now and 'running' or 'stalled' end
  if set == finished then return record.cancelled_ms and 'cancelled' or 'completed' end
  return set == delayed and 'delayed' or set == blocked and 'blocked' or set == dead and 'dead' or 'ready'
end

-- summarise(id, state, score, record): a task as get and list answer it: its state, the time or place that its score
-- says, and its record with the parts of the current or last lease spelled out.
-- NEEDS running
local function summarise(id, state, score, record)
  local held = redis.call('HGET', running, id)
  local started, attempt, delivery, crashes, fence, worker =
    string.match(held or record.ran or '', '(%d+) (%d+) (%d+) (%d+) (%d+) (%S+)$')
  if worker then
    record.worker, record.started_ms, record.fence = worker, started, fence
    if held or state == 'completed' then record.attempts, record.deliveries = attempt, delivery end
    if held then record.token, record.crashes = string.match(held, '^%S+'), crashes end
  end
  record.ran = nil
  local place, at_ms, shown = 0, tonumber(score), {}
  if state == 'ready' or state == 'blocked' then place, at_ms = at_ms % BAND, 0 end
  for name, value in pairs(record) do
    shown[#shown + 1] = name
    shown[#shown + 1] = value
  end
  return { 'found', id, state, at_ms, place, shown }
end

local conf, refused = open_queue()
if refused then return refused end
local last_score, last_id = string.match(cursor, '^(%d+) (%S+)$')
if cursor ~= '' and not last_score then
  return refuse('cursor', cursor, 'empty or what the page before answered')
end

local set = ({ ready = ready .. lane, delayed = delayed, blocked = blocked, running = leases, stalled = leases,
  completed = finished, cancelled = finished, dead = dead })[state]
local start = 0
if last_id then
  local rank = redis.call('ZSCORE', set, last_id) == last_score and redis.call('ZRANK', set, last_id)
  start = rank and rank + 1 or redis.call('ZCOUNT', set, '-inf', '(' .. last_score)
end
local page = redis.call('ZRANGE', set, start, start + limit - 1, 'WITHSCORES')
local answers, bytes, last = {}, 0, 0
for i = 1, #page, 2 do
  local id, score, record = page[i], page[i + 1], read_record(page[i])
  last = i
  if record and state_of(conf, set, score, record) == state then
    record.error, record.headers = nil, nil
    answers[#answers + 1] = summarise(id, state, score, record)
    bytes = bytes + 512 + #(record.tags or '')
    if bytes > 1048576 then break end
  end
end
local there_may_be_more = #page == 2 * limit or last + 1 < #page
return { 'ok', conf.now, there_may_be_more and page[last + 1] .. ' ' .. page[last] or '', answers }
