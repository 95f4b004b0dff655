#!lua flags=allow-oom
-- generated from lua/queue/cancel.v1.lua by lua/bundle.py; do not edit
-- queue.cancel.v1: end waiting tasks at once, and mark running ones: their worker hears it with the next heartbeat, and
-- every way out but ack then ends in cancelled. The same call, sent again, answers the same.
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
-- KEYS   payload   prefix/string {base}:payload:  id
-- KEYS   result    prefix/string {base}:result:   id
-- KEYS   deadlines zset          {base}:deadlines
-- KEYS   once      hash          {base}:once
-- KEYS   once_due  zset          {base}:once:due
-- KEYS   by_user   prefix/zset   {base}:by:user:  id
-- KEYS   by_tag    prefix/zset   {base}:by:tag:   id
-- KEYS   children  prefix/zset   {base}:children: id
-- KEYS   events    stream        {base}:events
-- KEYS   counters  hash          {base}:counters
-- ARGV   rid       id            ?=
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
-- EVENT  task.cancelled task.removed
-- FLAGS  allow-oom
-- COST   11 + 9n commands, O(n log m)
-- INCLUDE open_queue emit add_counts untie cancel_task lane_emptied read_record find_set state_of remove_task
-- INCLUDE trim_set retain done_before
-- INCLUDE recall_answers sweep_once hold_once note_done note_answers

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

if #KEYS ~= 21 then
  return redis.error_reply('ADEQ_ARG expected 21 keys, got ' .. #KEYS)
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
local payload = KEYS[12]
local result = KEYS[13]
local deadlines = KEYS[14]
local once = KEYS[15]
local once_due = KEYS[16]
local by_user = KEYS[17]
local by_tag = KEYS[18]
local children = KEYS[19]
local events = KEYS[20]
local counters = KEYS[21]

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

-- cancel_task(conf, id, tied, tally): end a task as cancelled; the caller has taken it out of the set it was in.
-- NEEDS task finished emit untie
local function cancel_task(conf, id, tied, tally)
  if tied then untie(id) end
  redis.call('HSET', task .. id, 'cancelled_ms', conf.now_text)
  redis.call('ZADD', finished, conf.now, id)
  emit(conf, 'task.cancelled', id, '')
  tally.cancelled = (tally.cancelled or 0) + 1
  conf.ended = conf.ended + 1
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

-- done_before(conf, verb): the word that a call of this verb and rid has left within the last minute, or nil.
-- NEEDS once rid
local function done_before(conf, verb)
  if rid == '' then return nil end
  local word, until_ms = string.match(redis.call('HGET', once, 'done:' .. verb .. ':' .. rid) or '', '^(%S+) (%d+)$')
  if word and tonumber(until_ms) > conf.now then return word end
end

-- recall_answers(conf, verb, count): what the same call of so many items was answered within the last minute, or nil.
-- NEEDS done_before
local function recall_answers(conf, verb, count)
  local answers = {}
  for status, value in string.gmatch(done_before(conf, verb) or '', '([^=,]+)=?([^,]*)') do
    answers[#answers + 1] = { status, value ~= '' and value or nil }
  end
  if #answers == count then return answers end
end

-- sweep_once(conf, limit): forget keys of `once` whose time is over, at most limit; how many.
-- NEEDS once once_due
local function sweep_once(conf, limit)
  local fields = redis.call('ZRANGE', once_due, '-inf', conf.now, 'BYSCORE', 'LIMIT', 0, limit)
  if #fields == 0 then return 0 end
  redis.call('ZREM', once_due, unpack(fields))
  redis.call('HDEL', once, unpack(fields))
  return #fields
end

-- hold_once(conf, field, id, keep_ms): let a key of `once` stand for a task: for so long, or, without keep_ms, until untied.
-- NEEDS once once_due
local function hold_once(conf, field, id, keep_ms)
  if not keep_ms then
    redis.call('HSET', once, field, id)
    return
  end
  local until_text = string.format('%.0f', conf.now + keep_ms)
  redis.call('HSET', once, field, id .. ' ' .. until_text)
  redis.call('ZADD', once_due, until_text, field)
  conf.held = (conf.held or 0) + 1
end

-- note_done(conf, verb, word): leave a word for the same call, sent again: one that is late must not undo what came after it.
-- NEEDS rid hold_once sweep_once
local function note_done(conf, verb, word)
  if rid == '' then return end
  hold_once(conf, 'done:' .. verb .. ':' .. rid, word, 60000)
  sweep_once(conf, 10)
end

-- note_answers(conf, verb, answers): leave the answers of this call for the same call, sent again; recall_answers reads them.
-- NEEDS note_done
local function note_answers(conf, verb, answers)
  local words = {}
  for i, answer in ipairs(answers) do words[i] = table.concat(answer, '=') end
  note_done(conf, verb, table.concat(words, ','))
end

local conf, refused = open_queue()
if refused then return refused end

local answers, tally = recall_answers(conf, 'cancel', item_count), {}
if answers then return { 'ok', conf.now, answers } end
answers = {}
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
    cancel_task(conf, id, record.ties, tally)
  end
end
note_answers(conf, 'cancel', answers)
retain(conf, tally)
add_counts(tally)
return { 'ok', conf.now, answers }
