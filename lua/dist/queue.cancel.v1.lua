#!lua flags=allow-oom
-- generated from lua/queue/cancel.v1.lua by lua/bundle.py; do not edit
-- queue.cancel.v1: end waiting tasks at once, and mark running ones: their worker hears it with the next heartbeat, and
-- every way out but ack then ends in cancelled. Sent again, it answers the same.
--
-- KEYS   config    hash          {base}:config
-- KEYS   running   hash          {base}:running
-- KEYS   leases    zset          {base}:leases
-- KEYS   task      prefix/hash   {base}:task:     id
-- KEYS   ready     prefix/zset   {base}:ready:    lane
-- KEYS   lanes     set           {base}:lanes
-- KEYS   wake      prefix/list   {base}:wake:     lane
-- KEYS   delayed   zset          {base}:delayed
-- KEYS   blocked   zset          {base}:blocked
-- KEYS   finished  zset          {base}:finished
-- KEYS   dead      zset          {base}:dead
-- KEYS   events    stream        {base}:events
-- KEYS   counters  hash          {base}:counters
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      cancelled
-- EACH   item      cancelling
-- EACH   item      finished
-- EACH   item      not_found
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.cancelled
-- FLAGS  allow-oom
-- COST   7 + 7n commands, O(n log m)
-- INCLUDE open_queue emit add_counts cancel_task lane_emptied read_record find_set state_of

local LAYOUT = 1
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
  if not v or #v > 16 or (#v > 1 and not arg_find(v, '^%d+$')) then return nil end
  local n = tonumber(v)
  if n and n >= min and n <= max then return n end
end

if #KEYS ~= 13 then
  return redis.error_reply('ADEQ_ARG expected 13 keys, got ' .. #KEYS)
end
local config = KEYS[1]
local running = KEYS[2]
local leases = KEYS[3]
local task = KEYS[4]
local ready = KEYS[5]
local lanes = KEYS[6]
local wake = KEYS[7]
local delayed = KEYS[8]
local blocked = KEYS[9]
local finished = KEYS[10]
local dead = KEYS[11]
local events = KEYS[12]
local counters = KEYS[13]

local trace = ARGV[1]
if not trace or #trace > 128 then
  return refuse('trace', trace and #trace, '0 to 128 bytes long')
end
local source = ARGV[2]
if not source or #source > 200 then
  return refuse('source', source and #source, '0 to 200 bytes long')
end
local now_ms = ARGV[3]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9007199254740991)
  if not now_ms then return refuse('now_ms', ARGV[3], 'an integer from 0 to 9007199254740991') end
end
local arg_at = 4
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

-- emit(conf, event, id, detail): add one entry to the stream; detail is name=value words of ours, or ''.
-- NEEDS events trace source
local function emit(conf, event, id, detail)
  local entry = { 'event', event, 'timestamp', conf.now_text, 'id', id }
  if detail ~= '' then entry[7], entry[8] = 'payload', detail end
  if source ~= '' then entry[#entry + 1] = 'source'; entry[#entry + 1] = source end
  if trace ~= '' then entry[#entry + 1] = 'trace'; entry[#entry + 1] = trace end
  redis.call('XADD', events, 'MAXLEN', '~', conf.events_max, '*', unpack(entry))
end

-- add_counts(tally): add what a call counted to the totals, once a call and not once a task. A number is added to its
-- counter, a table of buckets to one counter per bucket.
-- NEEDS counters
local function add_counts(tally)
  for name, counted in pairs(tally) do
    if type(counted) == 'number' then
      redis.call('HINCRBY', counters, name, counted)
    else
      for bound, n in pairs(counted) do redis.call('HINCRBY', counters, name .. ':' .. bound, n) end
    end
  end
end

-- cancel_task(conf, id, tally): end a task as cancelled; the caller has taken it out of the set it was in.
-- NEEDS task finished emit
local function cancel_task(conf, id, tally)
  redis.call('HSET', task .. id, 'cancelled_ms', conf.now_text)
  redis.call('ZADD', finished, conf.now, id)
  emit(conf, 'task.cancelled', id, '')
  tally.cancelled = (tally.cancelled or 0) + 1
end

-- lane_emptied(lane): no task is in line there any more. Its token goes, unless it may be there for a due time.
-- NEEDS lanes wake delayed
local function lane_emptied(lane)
  redis.call('SREM', lanes, lane)
  if redis.call('EXISTS', delayed) == 0 then redis.call('DEL', wake .. lane) end
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

-- find_set(id, record): the set that a task is in, and its score there; nil if it is in none or has no record.
-- NEEDS ready delayed blocked leases finished dead
local function find_set(id, record)
  if not record then return nil end
  for _, set in ipairs({ ready .. (record.lane or 'any'), leases, finished, delayed, dead, blocked }) do
    local score = redis.call('ZSCORE', set, id)
    if score then return set, score end
  end
end

-- state_of(conf, set, score, record): the state of a task by the set it is in; nil if it is in none.
-- NEEDS delayed blocked leases finished dead
local function state_of(conf, set, score, record)
  if not set then return nil end
  if set == leases then return tonumber(score) > conf.now and 'running' or 'stalled' end
  if set == finished then return record.cancelled_ms and 'cancelled' or 'completed' end
  return set == delayed and 'delayed' or set == blocked and 'blocked' or set == dead and 'dead' or 'ready'
end

local conf, refused = open_queue()
if refused then return refused end

local answers, tally = {}, {}
for i = 1, item_count do
  local id = item_id[i]
  local record = read_record(id)
  local set, score = find_set(id, record)
  local state = state_of(conf, set, score, record)
  if not state then
    answers[i] = { 'not_found' }
  elseif state == 'cancelled' then
    answers[i] = { 'cancelled' }
  elseif state == 'completed' or state == 'dead' then
    answers[i] = { 'finished' }
  elseif set == leases then
    answers[i] = { 'cancelling' }
    local held = redis.call('HGET', running, id)
    if held and not string.find(held, ' cancel|', 1, true) then
      redis.call('HSET', running, id, (string.gsub(held, '|', ' cancel|', 1)))
    end
  else
    answers[i] = { 'cancelled' }
    redis.call('ZREM', set, id)
    if state == 'ready' and redis.call('EXISTS', set) == 0 then lane_emptied(record.lane or 'any') end
    cancel_task(conf, id, tally)
  end
end
add_counts(tally)
return { 'ok', conf.now, answers }
