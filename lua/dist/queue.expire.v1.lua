#!lua flags=allow-oom
-- generated from lua/queue/expire.v1.lua by lua/bundle.py; do not edit
-- queue.expire.v1: look after the deadlines of waiting tasks: those that expired go to the dead set, others over to their
-- fallback lane. Claim does it too; this is for queues that nobody claims from. Idempotent in state, not in its count.
--
-- KEYS   config    hash          {base}:config
-- KEYS   leases    zset          {base}:leases
-- KEYS   task      prefix/hash   {base}:task:     id
-- KEYS   payload   prefix/string {base}:payload:  id
-- KEYS   result    prefix/string {base}:result:   id
-- KEYS   ready     prefix/zset   {base}:ready:    lane
-- KEYS   lanes     set           {base}:lanes
-- KEYS   wake      prefix/list   {base}:wake:     lane
-- KEYS   delayed   zset          {base}:delayed
-- KEYS   blocked   zset          {base}:blocked
-- KEYS   finished  zset          {base}:finished
-- KEYS   dead      zset          {base}:dead
-- KEYS   deadlines zset          {base}:deadlines
-- KEYS   once      hash          {base}:once
-- KEYS   by_user   prefix/zset   {base}:by:user:  id
-- KEYS   by_tag    prefix/zset   {base}:by:tag:   id
-- KEYS   children  prefix/zset   {base}:children: id
-- KEYS   events    stream        {base}:events
-- KEYS   counters  hash          {base}:counters
-- ARGV   limit     int 1..1000   ?=100
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int expired:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.expired task.moved task.removed task.alert
-- FLAGS  allow-oom
-- COST   10 + 9n commands, O(n log m)
-- INCLUDE open_queue emit add_counts push_wake line_up make_ready push_due await_deadline untie bury_task drop_task read_record
-- INCLUDE find_set lane_emptied expire_waiting remove_task trim_set retain

local LAYOUT = 1
local MAX_SAFE = 9007199254740991
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

if #KEYS ~= 19 then
  return redis.error_reply('ADEQ_ARG expected 19 keys, got ' .. #KEYS)
end
local config = KEYS[1]
local leases = KEYS[2]
local task = KEYS[3]
local payload = KEYS[4]
local result = KEYS[5]
local ready = KEYS[6]
local lanes = KEYS[7]
local wake = KEYS[8]
local delayed = KEYS[9]
local blocked = KEYS[10]
local finished = KEYS[11]
local dead = KEYS[12]
local deadlines = KEYS[13]
local once = KEYS[14]
local by_user = KEYS[15]
local by_tag = KEYS[16]
local children = KEYS[17]
local events = KEYS[18]
local counters = KEYS[19]

local limit = ARGV[1]
if limit == '' then
  limit = 100
else
  limit = arg_uint(limit, 1, 1000)
  if not limit then return refuse('limit', ARGV[1], 'an integer from 1 to 1000') end
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
if #ARGV ~= 4 then
  return redis.error_reply('ADEQ_ARG expected 4 arguments, got ' .. #ARGV)
end

-- open_queue(): what every call needs of the queue's settings, and the time; or nil and the error to answer with.
-- NEEDS config now_ms
local function open_queue()
  local row = redis.call('HMGET', config, 'layout_min', 'clock', 'lease_ms', 'events_max', 'mode', 'finished_max', 'result_ms')
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
    paused = row[5] == 'paused',
    draining = row[5] == 'draining',
    finished_max = tonumber(row[6] or 100000),
    result_ms = row[7] and tonumber(row[7]) or nil,
    ended = 0,
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

-- push_wake(conf, lane): leave a token for a blocked worker; at most one, for it is a hint and not the task.
-- NEEDS wake
local function push_wake(conf, lane)
  if conf.paused then return end
  if redis.call('EXISTS', wake .. lane) == 0 then redis.call('LPUSH', wake .. lane, '1') end
end

-- line_up(by_lane, lane, score, id): note a task for make_ready.
local function line_up(by_lane, lane, score, id)
  local members = by_lane[lane]
  if not members then
    members = {}
    by_lane[lane] = members
  end
  members[#members + 1] = score
  members[#members + 1] = id
end

-- make_ready(conf, by_lane): put tasks in line and wake a worker; by_lane[lane] = { score, id, score, id, … } (line_up).
-- NEEDS ready lanes push_wake
local function make_ready(conf, by_lane)
  for lane, members in pairs(by_lane) do
    redis.call('ZADD', ready .. lane, unpack(members))
    redis.call('SADD', lanes, lane)
    push_wake(conf, lane)
  end
end

-- push_due(lane): leave a token for a time within the longest block, 10 s, of which nobody who is blocked has learned: who
-- takes it blocks until then. In a pause, too, for it tells of a time and not of a task. It goes by itself.
-- NEEDS wake
local function push_due(lane)
  if redis.call('EXISTS', wake .. lane) == 0 then redis.call('LPUSH', wake .. lane, '1') end
  redis.call('PEXPIRE', wake .. lane, 60000)
end

-- await_deadline(conf, id, since_ms): note when a task with ties that waits since then falls back to another lane, or expires
-- if it was never leased: the earlier of the two.
-- NEEDS task deadlines push_due
local function await_deadline(conf, id, since_ms)
  local own = redis.call('HMGET', task .. id, 'fallback', 'fallback_after_ms', 'expires_at_ms', 'deliveries')
  local at_ms = MAX_SAFE
  if own[1] then
    at_ms = since_ms + own[2]
    if at_ms - conf.now < 10000 then push_due(own[1]) end
  end
  if own[3] and not own[4] then at_ms = math.min(at_ms, tonumber(own[3])) end
  if at_ms < MAX_SAFE then redis.call('ZADD', deadlines, string.format('%.0f', at_ms), id) end
end

-- untie(id): end what a task holds while it waits or runs: its unique key, its scope, its deadline. Only tasks with `ties`
-- in their record have any.
-- NEEDS task once deadlines
local function untie(id)
  redis.call('ZREM', deadlines, id)
  local own = redis.call('HMGET', task .. id, 'unique', 'scope')
  for i, kind in ipairs({ 'unique:', 'scope:' }) do
    local field = own[i] and kind .. own[i]
    if field and redis.call('HGET', once, field) == id then redis.call('HDEL', once, field) end
  end
end

-- bury_task(conf, event, id, reason, tied, tally): move a task to the dead set; the caller has taken it out of the set it
-- was in, and writes the reason into the record.
-- NEEDS dead emit untie
local function bury_task(conf, event, id, reason, tied, tally)
  if tied then untie(id) end
  redis.call('ZADD', dead, conf.now, id)
  emit(conf, event, id, 'reason=' .. reason)
  tally.dead = (tally.dead or 0) + 1
end

-- drop_task(conf, id): what is left of a task whose record is gone, as an evicting server leaves it; with an alert.
-- NEEDS task payload emit
local function drop_task(conf, id)
  redis.call('DEL', task .. id, payload .. id)
  emit(conf, 'task.alert', id, 'reason=record_missing')
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

-- lane_emptied(lane): no task is in line there any more. Its token goes; one that may be there for a time goes by itself.
-- NEEDS lanes wake delayed deadlines
local function lane_emptied(lane)
  redis.call('SREM', lanes, lane)
  if redis.call('EXISTS', delayed, deadlines) == 0 then
    redis.call('DEL', wake .. lane)
  else
    redis.call('PEXPIRE', wake .. lane, 60000)
  end
end

-- expire_waiting(conf, limit, tally): tasks whose deadline has come while they wait: one that expires goes to the dead set,
-- another goes over to its fallback lane, at its old place; how many.
-- NEEDS task ready deadlines emit read_record find_set lane_emptied line_up make_ready await_deadline bury_task drop_task
local function expire_waiting(conf, limit, tally)
  local ids, by_lane = redis.call('ZRANGE', deadlines, '-inf', conf.now, 'BYSCORE', 'LIMIT', 0, limit), {}
  if #ids == 0 then return 0 end
  redis.call('ZREM', deadlines, unpack(ids))
  for _, id in ipairs(ids) do
    local record = read_record(id)
    local set, score = find_set(id, record)
    if not record then
      drop_task(conf, id)
    elseif set then
      local lane = record.lane or 'any'
      local in_line = set == ready .. lane
      local expired = not record.deliveries and tonumber(record.expires_at_ms or MAX_SAFE) <= conf.now
      if expired or (in_line and record.fallback) then
        redis.call('ZREM', set, id)
        if in_line and redis.call('EXISTS', set) == 0 then lane_emptied(lane) end
      end
      if expired then
        redis.call('HSET', task .. id, 'reason', 'expired')
        bury_task(conf, 'task.expired', id, 'expired', true, tally)
      elseif record.fallback then
        redis.call('HSET', task .. id, 'lane', record.fallback)
        redis.call('HDEL', task .. id, 'fallback', 'fallback_after_ms')
        emit(conf, 'task.moved', id, 'lane=' .. record.fallback)
        if in_line then line_up(by_lane, record.fallback, score, id) end
        await_deadline(conf, id, conf.now)
      end
    end
  end
  make_ready(conf, by_lane)
  return #ids
end

-- remove_task(conf, id, since_ms, why): delete a task that is in no set any more, with its index entries. What was done to
-- it since then, up to 60 s ago, may still be sent again: for that long a stub remembers its rid and last settlement.
-- NEEDS task payload result by_user by_tag children
local function remove_task(conf, id, since_ms, why)
  local own = redis.call('HMGET', task .. id, 'user', 'tags', 'parent', 'rid', 'settled')
  redis.call('DEL', task .. id, payload .. id, result .. id)
  if own[1] then redis.call('ZREM', by_user .. own[1], id) end
  for tag in string.gmatch(own[2] or '', '[^,]+') do redis.call('ZREM', by_tag .. tag, id) end
  if own[3] then redis.call('ZREM', children .. own[3], id) end
  local left_ms = math.min(60000, since_ms + 60000 - conf.now)
  if left_ms <= 0 or not own[4] then return end
  redis.call('HSET', task .. id, 'gone', why, 'rid', own[4])
  if own[5] then redis.call('HSET', task .. id, 'settled', own[5]) end
  redis.call('PEXPIRE', task .. id, string.format('%.0f', left_ms))
end

-- trim_set(conf, set, keep_ms, max, limit, tally): delete the oldest of the finished or the dead beyond an age (nil: none)
-- and a number, at most limit; how many. The dead go with an event each.
-- NEEDS dead emit remove_task
local function trim_set(conf, set, keep_ms, max, limit, tally)
  local gone, excess = {}, math.min(redis.call('ZCARD', set) - max, limit)
  if keep_ms then
    gone = redis.call('ZRANGE', set, '-inf', conf.now - keep_ms, 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
  end
  if 2 * excess > #gone then gone = redis.call('ZRANGE', set, 0, excess - 1, 'WITHSCORES') end
  if #gone == 0 then return 0 end
  local ids = {}
  for i = 1, #gone, 2 do
    ids[#ids + 1] = gone[i]
    remove_task(conf, gone[i], tonumber(gone[i + 1]), 'trimmed')
    if set == dead then emit(conf, 'task.removed', gone[i], 'reason=retention') end
  end
  redis.call('ZREM', set, unpack(ids))
  local counter = set == dead and 'dropped' or 'trimmed'
  tally[counter] = (tally[counter] or 0) + #ids
  return #ids
end

-- retain(conf, tally): after tasks have ended, keep the sets of ended tasks within their numbers. Ages are looked after by
-- trim_ended.
-- NEEDS config finished dead trim_set
local function retain(conf, tally)
  if conf.ended > 0 and redis.call('ZCARD', finished) > conf.finished_max then
    trim_set(conf, finished, nil, conf.finished_max, 100 + conf.ended, tally)
  end
  if tally.dead then
    local max = tonumber(redis.call('HGET', config, 'dead_max') or 100000)
    trim_set(conf, dead, nil, max, 100 + tally.dead, tally)
  end
end

local conf, refused = open_queue()
if refused then return refused end

local tally = {}
local expired = expire_waiting(conf, limit, tally)
retain(conf, tally)
add_counts(tally)
return { 'ok', conf.now, expired }
