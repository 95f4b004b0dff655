#!lua flags=allow-oom
-- generated from lua/queue/release.v1.lua by lua/bundle.py; do not edit
-- queue.release.v1: give leased tasks back at no attempt cost, each to its old place in line.
-- Past its deadline a lease is lost here, even if nobody has taken it back yet. A task that was being cancelled ends as
-- cancelled. Replays answer the same.
--
-- KEYS   config    hash          {base}:config
-- KEYS   running   hash          {base}:running
-- KEYS   leases    zset          {base}:leases
-- KEYS   task      prefix/hash   {base}:task:     id
-- KEYS   ready     prefix/zset   {base}:ready:    lane
-- KEYS   lanes     set           {base}:lanes
-- KEYS   wake      prefix/list   {base}:wake:     lane
-- KEYS   finished  zset          {base}:finished
-- KEYS   events    stream        {base}:events
-- KEYS   counters  hash          {base}:counters
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- ITEM   token     id
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      released place:int
-- EACH   item      cancelled
-- EACH   item      lease_lost
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.released task.cancelled
-- FLAGS  allow-oom
-- COST   11 + 2n commands, O(n log m)
-- INCLUDE open_queue emit add_counts push_wake line_up make_ready read_lease settled_as settled_before
-- INCLUDE end_leases cancel_task

local LAYOUT = 1
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
  if not v or #v > 16 or (#v > 1 and not arg_find(v, '^%d+$')) then return nil end
  local n = tonumber(v)
  if n and n >= min and n <= max then return n end
end

if #KEYS ~= 10 then
  return redis.error_reply('ADEQ_ARG expected 10 keys, got ' .. #KEYS)
end
local config = KEYS[1]
local running = KEYS[2]
local leases = KEYS[3]
local task = KEYS[4]
local ready = KEYS[5]
local lanes = KEYS[6]
local wake = KEYS[7]
local finished = KEYS[8]
local events = KEYS[9]
local counters = KEYS[10]

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
local item_id, item_token = {}, {}
for i = 1, item_count do
  local v = ARGV[arg_at]
  if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
    return refuse('item[' .. i .. '].id', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
  end
  item_id[i] = v
  v = ARGV[arg_at + 1]
  if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
    return refuse('item[' .. i .. '].token', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
  end
  item_token[i] = v
  arg_at = arg_at + 2
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

-- push_wake(lane): leave a token for a blocked worker; at most one, for it is a hint and not the task.
-- NEEDS wake
local function push_wake(lane)
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

-- make_ready(by_lane): put tasks in line and wake a worker; by_lane[lane] = { score, id, score, id, … } (line_up).
-- NEEDS ready lanes push_wake
local function make_ready(by_lane)
  for lane, members in pairs(by_lane) do
    redis.call('ZADD', ready .. lane, unpack(members))
    redis.call('SADD', lanes, lane)
    push_wake(lane)
  end
end

-- read_lease(value): the parts of an entry of `running`, or nil if there is none. The entry is two halves with a bar
-- between: '<token> <score> <lane>[ cancel]', and what the record keeps once the lease has ended, `ran`:
-- '<started_ms> <attempt> <delivery> <crashes> <fence> <worker>'.
local function read_lease(value)
  if not value then return nil end
  local token, score, lane, cancel, ran = string.match(value, '^(%S+) (%d+) ([^ |]+)( ?[^|]*)|(.*)$')
  local attempt, delivery, crashes, fence, worker = string.match(ran, '^%d+ (%d+) (%d+) (%d+) (%d+) (%S+)$')
  return {
    token = token, score = score, lane = lane, cancelling = cancel ~= '', ran = ran, attempt = tonumber(attempt),
    delivery = tonumber(delivery), crashes = tonumber(crashes), fence = tonumber(fence), worker = worker,
  }
end

-- settled_as(token, answer): the record's memory of a settlement, as settled_before reads it: '<token> <status>[ <number>]'.
local function settled_as(token, answer)
  if not answer[2] then return token .. ' ' .. answer[1] end
  return token .. ' ' .. answer[1] .. string.format(' %.0f', answer[2])
end

-- settled_before(id, token, answers): what this token's settlement answered, if it is among these; else lease_lost.
-- NEEDS task
local function settled_before(id, token, answers)
  local settled = redis.call('HGET', task .. id, 'settled') or ''
  local by, answer, value = string.match(settled, '^(%S+) (%S+) ?(%d*)$')
  if by ~= token or not answers[answer] then return { 'lease_lost' } end
  if value == '' then return { answer } end
  return { answer, tonumber(value) }
end

-- end_leases(ids): nobody holds these tasks any more.
-- NEEDS running leases
local function end_leases(ids)
  if #ids == 0 then return end
  redis.call('HDEL', running, unpack(ids))
  redis.call('ZREM', leases, unpack(ids))
end

-- cancel_task(conf, id, tally): end a task as cancelled; the caller has taken it out of the set it was in.
-- NEEDS task finished emit
local function cancel_task(conf, id, tally)
  redis.call('HSET', task .. id, 'cancelled_ms', conf.now_text)
  redis.call('ZADD', finished, conf.now, id)
  emit(conf, 'task.cancelled', id, '')
  tally.cancelled = (tally.cancelled or 0) + 1
end

local conf, refused = open_queue()
if refused then return refused end

local held = redis.call('HMGET', running, unpack(item_id))
local deadlines = redis.call('ZMSCORE', leases, unpack(item_id))
local answers, ended, by_lane, tally = {}, {}, {}, {}
for i = 1, item_count do
  local id, lease = item_id[i], read_lease(held[i])
  local lost = not lease or lease.token ~= item_token[i] or tonumber(deadlines[i] or 0) <= conf.now
  if lost or ended[id] then
    answers[i] = settled_before(id, item_token[i], { released = true, cancelled = true })
  else
    ended[#ended + 1], ended[id] = id, true
    answers[i] = lease.cancelling and { 'cancelled' } or { 'released', lease.score % BAND }
    redis.call('HSET', task .. id, 'ran', lease.ran, 'deliveries', lease.delivery, 'ready_ms', conf.now_text,
      'settled', settled_as(lease.token, answers[i]))
    if lease.cancelling then
      cancel_task(conf, id, tally)
    else
      line_up(by_lane, lease.lane, lease.score, id)
      emit(conf, 'task.released', id, '')
      tally.released = (tally.released or 0) + 1
    end
  end
end
end_leases(ended)
make_ready(by_lane)
add_counts(tally)
return { 'ok', conf.now, answers }
