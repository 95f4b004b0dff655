#!lua flags=allow-oom
-- generated from lua/queue/ack.v1.lua by lua/bundle.py; do not edit
-- queue.ack.v1: complete leased tasks and keep their results. `result_dropped` completed too, but the server's memory is
-- full and a result above 4 KiB was not kept.
-- An expired lease that nobody has taken back yet still completes. Replays answer the same; any other token that is not
-- the current lease's answers `lease_lost` and changes nothing.
--
-- KEYS   config    hash          {base}:config
-- KEYS   running   hash          {base}:running
-- KEYS   leases    zset          {base}:leases
-- KEYS   task      prefix/hash   {base}:task:     id
-- KEYS   result    prefix/string {base}:result:   id
-- KEYS   finished  zset          {base}:finished
-- KEYS   payload   prefix/string {base}:payload:  id
-- KEYS   deadlines zset          {base}:deadlines
-- KEYS   once      hash          {base}:once
-- KEYS   dead      zset          {base}:dead
-- KEYS   by_user   prefix/zset   {base}:by:user:  id
-- KEYS   by_tag    prefix/zset   {base}:by:tag:   id
-- KEYS   children  prefix/zset   {base}:children: id
-- KEYS   events    stream        {base}:events
-- KEYS   counters  hash          {base}:counters
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- ITEM   token     id
-- ITEM   result    bytes 0..1048576
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      completed
-- EACH   item      result_dropped
-- EACH   item      lease_lost
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.completed task.removed
-- FLAGS  allow-oom
-- COST   10 + n commands, O(n log m)
-- INCLUDE open_queue emit add_counts observe end_leases keep_result ack_tasks retain
-- RARELY is_full settled_before untie remove_task trim_set

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
local result = KEYS[5]
local finished = KEYS[6]
local payload = KEYS[7]
local deadlines = KEYS[8]
local once = KEYS[9]
local dead = KEYS[10]
local by_user = KEYS[11]
local by_tag = KEYS[12]
local children = KEYS[13]
local events = KEYS[14]
local counters = KEYS[15]

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
local arg_bytes = 0
local item_count = ARGV[arg_at]
item_count = arg_uint(item_count, 1, 1000)
if not item_count then return refuse('item_count', ARGV[arg_at], 'an integer from 1 to 1000') end
arg_at = arg_at + 1
local item_id, item_token, item_result = {}, {}, {}
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
  if not v or #v > 1048576 then
    return refuse('item[' .. i .. '].result', v and #v, '0 to 1048576 bytes long')
  end
  arg_bytes = arg_bytes + #v
  item_result[i] = v
  arg_at = arg_at + 3
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end
if arg_bytes > 16777216 then
  return refuse('the items of a call', arg_bytes, 'at most 16777216 bytes')
end

local arg_rare
local function is_full(...) return arg_rare().is_full(...) end
local function settled_before(...) return arg_rare().settled_before(...) end
local function untie(...) return arg_rare().untie(...) end
local function trim_set(...) return arg_rare().trim_set(...) end

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

-- observe(tally, name, value): count a value in the bucket of the next power of two: counter '<name>:<upper bound>'.
local function observe(tally, name, value)
  local bound = 1
  while bound < value and bound < 2147483648 do bound = bound * 2 end
  local buckets = tally[name]
  if not buckets then
    buckets = {}
    tally[name] = buckets
  end
  buckets[bound] = (buckets[bound] or 0) + 1
end

-- end_leases(ids): nobody holds these tasks any more.
-- NEEDS running leases
local function end_leases(ids)
  if #ids == 0 then return end
  redis.call('HDEL', running, unpack(ids))
  redis.call('ZREM', leases, unpack(ids))
end

-- keep_result(conf, id, value, own_ms, kept): keep a result with its record, or for a time, or not at all, as the task or
-- the queue has it; kept is the MSET of the call. False if it was dropped because the server is full.
-- NEEDS task result is_full
local function keep_result(conf, id, value, own_ms, kept)
  local keep_ms = own_ms or conf.result_ms
  if value == '' or keep_ms == 0 then return true end
  if #value > 4096 and is_full() then return false end
  if not keep_ms then
    kept[#kept + 1], kept[#kept + 2] = result .. id, value
  else
    -- Past its time it is not shown; the server deletes it later, by its own clock.
    redis.call('HSET', task .. id, 'result_until_ms', string.format('%.0f', conf.now + keep_ms))
    redis.call('SET', result .. id, value, 'PX', string.format('%.0f', math.max(2 * keep_ms, 60000)))
  end
  return true
end

-- ack_tasks(conf, ids, tokens, results, tally): complete tasks whose lease is this token's; one answer each.
-- NEEDS running task finished emit observe settled_before untie keep_result end_leases
local function ack_tasks(conf, ids, tokens, results, tally)
  local answers, done, by_time, kept, ended = {}, {}, {}, {}, {}
  if #ids == 0 then return answers end
  local byte, find, sub, match = string.byte, string.find, string.sub, string.match
  local completed, dropped = { 'completed' }, { 'result_dropped' }
  local held = redis.call('HMGET', running, unpack(ids))
  for i, id in ipairs(ids) do
    local token, lease = tokens[i], held[i]
    -- The hot path: what read_lease does, without a pattern over the whole entry.
    if not lease or ended[id] or find(lease, token, 1, true) ~= 1 or byte(lease, #token + 1) ~= 32 then
      answers[i] = settled_before(id, token, { completed = true, result_dropped = true })
    else
      local bar = find(lease, '|', #token, true)
      local ran, tied, own_ms = sub(lease, bar + 1), find(lease, ' ties', #token, true), nil
      local started_ms, attempt = match(ran, '^(%d+) (%d+)')
      if tied and tied < bar then
        own_ms = tonumber(redis.call('HGET', task .. id, 'result_ms') or nil)
        untie(id)
      end
      answers[i] = keep_result(conf, id, results[i], own_ms, kept) and completed or dropped
      redis.call('HSET', task .. id, 'settled', token .. ' ' .. answers[i][1], 'ran', ran)
      local at = #done + 1
      done[at], by_time[2 * at - 1], by_time[2 * at], ended[id] = id, conf.now_text, id, true
      observe(tally, 'run_ms', conf.now - started_ms)
      if attempt ~= '1' then observe(tally, 'attempts', tonumber(attempt)) end
    end
  end
  if #done == 0 then return answers end
  end_leases(done)
  redis.call('ZADD', finished, unpack(by_time))
  if #kept > 0 then redis.call('MSET', unpack(kept)) end
  emit(conf, 'task.completed', table.concat(done, ' '), '')
  conf.ended = conf.ended + #done
  return answers
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

local arg_made
function arg_rare()
  if arg_made then return arg_made end

-- is_full(): whether the server has reached its maxmemory. Asked only for large results: INFO takes a few microseconds. It is
-- asked between writes, where nothing may fail: a user who may not use INFO is taken for one whose server is not full.
local function is_full()
  local info = redis.pcall('INFO', 'memory')
  if type(info) ~= 'string' then return false end
  local used, max = string.match(info, 'used_memory:(%d+)'), string.match(info, 'maxmemory:(%d+)')
  return max and tonumber(max) > 0 and tonumber(used) >= tonumber(max)
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

  arg_made = { is_full = is_full, settled_before = settled_before, untie = untie, trim_set = trim_set }
  return arg_made
end

local conf, refused = open_queue()
if refused then return refused end

local tally = {}
local answers = ack_tasks(conf, item_id, item_token, item_result, tally)
retain(conf, tally)
add_counts(tally)
return { 'ok', conf.now, answers }
