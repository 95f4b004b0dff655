#!lua flags=allow-oom
-- generated from lua/queue/fail.v1.lua by lua/bundle.py; do not edit
-- queue.fail.v1: end attempts that went wrong: each task is retried after a backoff or goes to the dead set.
-- The delay before retry n is min(base * multiplier^(n-1), cap), with jitter, at most cap. A task that was being
-- cancelled ends as cancelled. Replays answer the same.
--
-- KEYS   config    hash          {base}:config
-- KEYS   running   hash          {base}:running
-- KEYS   leases    zset          {base}:leases
-- KEYS   task      prefix/hash   {base}:task:     id
-- KEYS   delayed   zset          {base}:delayed
-- KEYS   wake      prefix/list   {base}:wake:     lane
-- KEYS   finished  zset          {base}:finished
-- KEYS   dead      zset          {base}:dead
-- KEYS   events    stream        {base}:events
-- KEYS   counters  hash          {base}:counters
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- ITEM   token     id
-- ITEM   retryable bool          ?=1
-- ITEM   reason    name          ?=error
-- ITEM   error     bytes 0..8192 ?=
-- ITEM   jitter_ppm int 0..1000000 ?=500000
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      retried due_ms:int
-- EACH   item      dead
-- EACH   item      cancelled
-- EACH   item      lease_lost
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.retried task.dead task.cancelled
-- FLAGS  allow-oom
-- COST   8 + 5n commands, O(n log m)
-- INCLUDE open_queue emit add_counts push_wake delay_until read_lease settled_as settled_before end_leases
-- INCLUDE read_policy backoff cancel_task bury_task fail_tasks

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

if #KEYS ~= 10 then
  return redis.error_reply('ADEQ_ARG expected 10 keys, got ' .. #KEYS)
end
local config = KEYS[1]
local running = KEYS[2]
local leases = KEYS[3]
local task = KEYS[4]
local delayed = KEYS[5]
local wake = KEYS[6]
local finished = KEYS[7]
local dead = KEYS[8]
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
local item_id, item_token, item_retryable, item_reason, item_error, item_jitter_ppm = {}, {}, {}, {}, {}, {}
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
  v = ARGV[arg_at + 2]
  if v ~= '0' and v ~= '1' and v ~= '' then
    return refuse('item[' .. i .. '].retryable', v, '0 or 1')
  end
  v = v ~= '0'
  item_retryable[i] = v
  v = ARGV[arg_at + 3]
  if v == '' then
    v = 'error'
  elseif not v or #v > 100 or not arg_find(v, '^[%w._@+-]+$') then
    return refuse('item[' .. i .. '].reason', v, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
  end
  item_reason[i] = v
  v = ARGV[arg_at + 4]
  if not v or #v > 8192 then
    return refuse('item[' .. i .. '].error', v and #v, '0 to 8192 bytes long')
  end
  item_error[i] = v
  v = ARGV[arg_at + 5]
  if v == '' then
    v = 500000
  else
    v = arg_uint(v, 0, 1000000)
    if not v then return refuse('item[' .. i .. '].jitter_ppm', ARGV[arg_at + 5], 'an integer from 0 to 1000000') end
  end
  item_jitter_ppm[i] = v
  arg_at = arg_at + 6
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

-- fail_tasks(conf, fails, tally): end attempts that went wrong; fails is a table of lists id, token, retryable,
-- reason, error, jitter_ppm. One answer each: retried with the due time, dead, cancelled, lease_lost.
-- NEEDS config running task emit read_lease settled_as settled_before end_leases read_policy backoff delay_until bury_task cancel_task
local function fail_tasks(conf, fails, tally)
  local answers, ended = {}, {}
  if #fails.id == 0 then return answers end
  local held = redis.call('HMGET', running, unpack(fails.id))
  local all = read_policy(config)
  for i, id in ipairs(fails.id) do
    local token, lease = fails.token[i], read_lease(held[i])
    if not lease or lease.token ~= token or ended[id] then
      answers[i] = settled_before(id, token, { retried = true, dead = true, cancelled = true })
    else
      ended[#ended + 1], ended[id] = id, true
      local own = read_policy(task .. id)
      if lease.cancelling then
        answers[i] = { 'cancelled' }
        cancel_task(conf, id, tally)
      elseif fails.retryable[i] and lease.attempt < tonumber(own[1] or all[1] or 3) then
        local due_ms = conf.now + backoff(own, all, lease.attempt, fails.jitter_ppm[i])
        answers[i] = { 'retried', due_ms }
        delay_until(conf, due_ms, id, lease.lane)
        emit(conf, 'task.retried', id, string.format('attempt=%d due_ms=%.0f', lease.attempt, due_ms))
        tally.retried = (tally.retried or 0) + 1
      else
        answers[i] = { 'dead' }
        bury_task(conf, id, fails.reason[i], tally)
      end
      redis.call('HSET', task .. id, 'ran', lease.ran, 'attempts', lease.attempt, 'deliveries', lease.delivery,
        'reason', fails.reason[i], 'error', fails.error[i], 'settled', settled_as(token, answers[i]))
    end
  end
  end_leases(ended)
  return answers
end

local conf, refused = open_queue()
if refused then return refused end

local tally = {}
local answers = fail_tasks(conf, {
  id = item_id, token = item_token, retryable = item_retryable, reason = item_reason, error = item_error,
  jitter_ppm = item_jitter_ppm,
}, tally)
add_counts(tally)
return { 'ok', conf.now, answers }
