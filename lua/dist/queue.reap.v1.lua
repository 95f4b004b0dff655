#!lua flags=allow-oom
-- generated from lua/queue/reap.v1.lua by lua/bundle.py; do not edit
-- queue.reap.v1: take back leases past their deadline, and forget silent workers. Claim does it too; this is for queues
-- that nobody claims from. Idempotent in state, not in its count.
--
-- KEYS   config    hash          {base}:config
-- KEYS   running   hash          {base}:running
-- KEYS   leases    zset          {base}:leases
-- KEYS   task      prefix/hash   {base}:task:     id
-- KEYS   payload   prefix/string {base}:payload:  id
-- KEYS   ready     prefix/zset   {base}:ready:    lane
-- KEYS   lanes     set           {base}:lanes
-- KEYS   wake      prefix/list   {base}:wake:     lane
-- KEYS   delayed   zset          {base}:delayed
-- KEYS   finished  zset          {base}:finished
-- KEYS   dead      zset          {base}:dead
-- KEYS   workers   zset          {base}:workers
-- KEYS   worker_hash prefix/hash {base}:worker:   name
-- KEYS   events    stream        {base}:events
-- KEYS   counters  hash          {base}:counters
-- ARGV   limit     int 1..1000   ?=100
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int reaped:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.stalled task.dead task.cancelled task.alert worker.lost
-- FLAGS  allow-oom
-- COST   13 + 3n commands, 10 + 6n where tasks crash again, O(n log m)
-- INCLUDE open_queue emit add_counts push_wake line_up make_ready delay_until read_lease end_leases read_policy
-- INCLUDE backoff cancel_task bury_task drop_task reap_expired retire_worker sweep_workers

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

if #KEYS ~= 15 then
  return redis.error_reply('ADEQ_ARG expected 15 keys, got ' .. #KEYS)
end
local config = KEYS[1]
local running = KEYS[2]
local leases = KEYS[3]
local task = KEYS[4]
local payload = KEYS[5]
local ready = KEYS[6]
local lanes = KEYS[7]
local wake = KEYS[8]
local delayed = KEYS[9]
local finished = KEYS[10]
local dead = KEYS[11]
local workers = KEYS[12]
local worker_hash = KEYS[13]
local events = KEYS[14]
local counters = KEYS[15]

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

-- delay_until(conf, due_ms, id, lane): put a task aside. Who is blocked on its lane learned of no due time of that lane,
-- so one that falls within the longest block, 10 s, wakes a worker, which then blocks until it.
-- NEEDS delayed push_wake
local function delay_until(conf, due_ms, id, lane)
  redis.call('ZADD', delayed, due_ms, id)
  if due_ms - conf.now < 10000 then push_wake(lane) end
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

-- end_leases(ids): nobody holds these tasks any more.
-- NEEDS running leases
local function end_leases(ids)
  if #ids == 0 then return end
  redis.call('HDEL', running, unpack(ids))
  redis.call('ZREM', leases, unpack(ids))
end

-- read_policy(key): how often and when to try again, as a record or the queue's config has it; what is not set is false.
local function read_policy(key)
  return redis.call('HMGET', key, 'max_attempts', 'backoff_base_ms', 'backoff_multiplier_pct', 'backoff_cap_ms',
    'jitter_pct', 'max_crashes')
end

-- backoff(own, all, n, jitter_ppm): ms before retry n, by the policy of the task, of the queue, or the defaults;
-- jitter_ppm 0..1000000 comes from the caller, 500000 is none.
local function backoff(own, all, n, jitter_ppm)
  local base = tonumber(own[2] or all[2] or 1000)
  local multiplier = tonumber(own[3] or all[3] or 200) / 100
  local cap = tonumber(own[4] or all[4] or 300000)
  local jitter = tonumber(own[5] or all[5] or 10) / 100
  -- The power is bounded, for infinity times a base of 0 is not a number.
  local delay = math.min(base * math.min(multiplier ^ (n - 1), 1e12), cap)
  return math.floor(math.min(delay * (1 + jitter * (jitter_ppm / 500000 - 1)), cap))
end

-- cancel_task(conf, id, tally): end a task as cancelled; the caller has taken it out of the set it was in.
-- NEEDS task finished emit
local function cancel_task(conf, id, tally)
  redis.call('HSET', task .. id, 'cancelled_ms', conf.now_text)
  redis.call('ZADD', finished, conf.now, id)
  emit(conf, 'task.cancelled', id, '')
  tally.cancelled = (tally.cancelled or 0) + 1
end

-- bury_task(conf, id, reason, tally): move a task to the dead set; the caller has taken it out of the set it was in,
-- and writes the reason into the record.
-- NEEDS dead emit
local function bury_task(conf, id, reason, tally)
  redis.call('ZADD', dead, conf.now, id)
  emit(conf, 'task.dead', id, 'reason=' .. reason)
  tally.dead = (tally.dead or 0) + 1
end

-- drop_task(conf, id): what is left of a task whose record is gone, as an evicting server leaves it; with an alert.
-- NEEDS task payload emit
local function drop_task(conf, id)
  redis.call('DEL', task .. id, payload .. id)
  emit(conf, 'task.alert', id, 'reason=record_missing')
end

-- reap_expired(conf, limit, tally): take back leases past their deadline. The first crash returns a task to its old
-- place, the n-th waits for the backoff of n-1, max_crashes of them end it.
-- NEEDS config running task leases emit read_lease end_leases read_policy backoff delay_until bury_task cancel_task drop_task
-- NEEDS line_up make_ready
local function reap_expired(conf, limit, tally)
  local ids = redis.call('ZRANGE', leases, '-inf', conf.now, 'BYSCORE', 'LIMIT', 0, limit)
  if #ids == 0 then return 0 end
  local held, by_lane = redis.call('HMGET', running, unpack(ids)), {}
  local all = read_policy(config)
  end_leases(ids)
  tally.stalled = (tally.stalled or 0) + #ids
  for i, id in ipairs(ids) do
    local lease = read_lease(held[i])
    if redis.call('HEXISTS', task .. id, 'created_ms') == 0 then
      drop_task(conf, id)
    elseif not lease then
      redis.call('HSET', task .. id, 'reason', 'damaged')
      bury_task(conf, id, 'damaged', tally)
    else
      local crashes, reason = lease.crashes + 1, nil
      emit(conf, 'task.stalled', id, 'crashes=' .. crashes .. ' worker=' .. lease.worker)
      if lease.cancelling then
        cancel_task(conf, id, tally)
      elseif crashes >= tonumber(all[6] or 5) then
        reason = 'crash_loop'
        bury_task(conf, id, reason, tally)
      elseif crashes == 1 then
        line_up(by_lane, lease.lane, lease.score, id)
      else
        delay_until(conf, conf.now + backoff(read_policy(task .. id), all, crashes - 1, 500000), id, lease.lane)
      end
      redis.call('HSET', task .. id, 'ran', lease.ran, 'crashes', crashes, 'deliveries', lease.delivery,
        reason and 'reason' or 'ready_ms', reason or conf.now_text)
    end
  end
  make_ready(by_lane)
  return #ids
end

-- retire_worker(name): end the incarnation that holds a name. The last eight stay known beyond the replay window, so
-- that a late re-send of their registration is not taken for a new one.
-- NEEDS worker_hash
local function retire_worker(name)
  local row = redis.call('HMGET', worker_hash .. name, 'incarnation', 'replaced')
  local replaced = string.match((row[1] or '') .. ' ' .. (row[2] or ''), '^ ?(' .. string.rep('%S* ?', 8) .. ')')
  redis.call('DEL', worker_hash .. name)
  redis.call('HSET', worker_hash .. name, 'replaced', replaced)
  redis.call('PEXPIRE', worker_hash .. name, 120000)
end

-- sweep_workers(conf, tally): forget workers that have been silent for 30 s, at most 100; their leases expire by themselves.
-- NEEDS workers emit retire_worker
local function sweep_workers(conf, tally)
  local gone = redis.call('ZRANGE', workers, '-inf', conf.now - 30000, 'BYSCORE', 'LIMIT', 0, 100)
  for _, name in ipairs(gone) do
    redis.call('ZREM', workers, name)
    retire_worker(name)
    emit(conf, 'worker.lost', name, '')
  end
  if #gone > 0 then tally.workers_lost = #gone end
end

local conf, refused = open_queue()
if refused then return refused end

local tally = {}
local reaped = reap_expired(conf, limit, tally)
sweep_workers(conf, tally)
add_counts(tally)
return { 'ok', conf.now, reaped }
