#!lua
-- generated from lua/queue/enqueue.v1.lua by lua/bundle.py; do not edit
-- queue.enqueue.v1: put tasks into a queue, to be done at once or after a delay.
-- Ids are the caller's. The same id under the same rid and index is a replay and answers `created` again; any other
-- use of a known id answers `exists` and changes nothing. Tasks of one call stand in line in the order of the items.
--
-- KEYS   config    hash          {base}:config
-- KEYS   task      prefix/hash   {base}:task:     id
-- KEYS   payload   prefix/string {base}:payload:  id
-- KEYS   ready     prefix/zset   {base}:ready:    lane
-- KEYS   lanes     set           {base}:lanes
-- KEYS   wake      prefix/list   {base}:wake:     lane
-- KEYS   delayed   zset          {base}:delayed
-- KEYS   events    stream        {base}:events
-- KEYS   counters  hash          {base}:counters
-- ARGV   rid       id
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- ITEM   payload   bytes 0..1048576
-- PAIR   kind      id
-- PAIR   priority  int 0..9      ?=5
-- PAIR   lane      lane          ?=any
-- PAIR   delay_ms  int 0..315360000000 ?=0
-- PAIR   user      id
-- PAIR   tags      ids 1..16
-- PAIR   max_attempts            int 1..1000
-- PAIR   backoff_base_ms         int 0..86400000
-- PAIR   backoff_multiplier_pct  int 100..10000
-- PAIR   backoff_cap_ms          int 0..604800000
-- PAIR   jitter_pct              int 0..100
-- PAIR   headers   bytes 0..4096
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      created
-- EACH   item      exists
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.enqueued
-- COST   11 + n commands, O(n log m)
-- INCLUDE open_queue emit add_counts push_wake line_up make_ready delay_until

local LAYOUT = 1
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
  if not v or #v > 16 or (#v > 1 and not arg_find(v, '^%d+$')) then return nil end
  local n = tonumber(v)
  if n and n >= min and n <= max then return n end
end
local function arg_ids(v, min, max)
  local list, n = {}, 0
  if not v or #v > max * 201 then return nil end
  if v ~= '' then
    for id in string.gmatch(v .. ',', '([^,]*),') do
      if #id > 200 or not arg_find(id, '^[%w._:/@+-]+$') then return nil end
      n = n + 1
      list[n] = id
    end
  end
  if n >= min and n <= max then return list end
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
local task = KEYS[2]
local payload = KEYS[3]
local ready = KEYS[4]
local lanes = KEYS[5]
local wake = KEYS[6]
local delayed = KEYS[7]
local events = KEYS[8]
local counters = KEYS[9]

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
local arg_bytes = 0
local item_count = ARGV[arg_at]
item_count = arg_uint(item_count, 1, 1000)
if not item_count then return refuse('item_count', ARGV[arg_at], 'an integer from 1 to 1000') end
arg_at = arg_at + 1
local item_id, item_payload, item_pairs = {}, {}, {}
local arg_seen_item = {}
for i = 1, item_count do
  local v = ARGV[arg_at]
  if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
    return refuse('item[' .. i .. '].id', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
  end
  item_id[i] = v
  v = ARGV[arg_at + 1]
  if not v or #v > 1048576 then
    return refuse('item[' .. i .. '].payload', v and #v, '0 to 1048576 bytes long')
  end
  arg_bytes = arg_bytes + #v
  item_payload[i] = v
  arg_at = arg_at + 2
  local size = ARGV[arg_at]
  size = arg_uint(size, 0, 12)
  if not size then return refuse('item[' .. i .. '].pairs', ARGV[arg_at], 'an integer from 0 to 12') end
  arg_at = arg_at + 1
  local entry, filled = arg_empty, 0
  if size > 0 then entry = {} end
  for at = arg_at, arg_at + 2 * size - 2, 2 do
    local name, raw = ARGV[at], ARGV[at + 1]
    local v = raw
    if name == 'kind' then
      if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
        return refuse('item[' .. i .. '].kind', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
      end
    elseif name == 'priority' then
      if raw == '' then
        v = nil
      else
        v = arg_uint(v, 0, 9)
        if not v then return refuse('item[' .. i .. '].priority', raw, 'an integer from 0 to 9') end
        if v == 5 then v = nil end
      end
    elseif name == 'lane' then
      if raw == '' then
        v = nil
      else
        v = arg_lane(v)
        if not v then return refuse('item[' .. i .. '].lane', raw, 'any, group/<name> or group/<name>/inst/<name>') end
        if v == 'any' then v = nil end
      end
    elseif name == 'delay_ms' then
      if raw == '' then
        v = nil
      else
        v = arg_uint(v, 0, 315360000000)
        if not v then return refuse('item[' .. i .. '].delay_ms', raw, 'an integer from 0 to 315360000000') end
        if v == 0 then v = nil end
      end
    elseif name == 'user' then
      if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
        return refuse('item[' .. i .. '].user', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
      end
    elseif name == 'tags' then
      v = arg_ids(v, 1, 16)
      if not v then return refuse('item[' .. i .. '].tags', raw, '1 to 16 ids with commas between them') end
    elseif name == 'max_attempts' then
      v = arg_uint(v, 1, 1000)
      if not v then return refuse('item[' .. i .. '].max_attempts', raw, 'an integer from 1 to 1000') end
    elseif name == 'backoff_base_ms' then
      v = arg_uint(v, 0, 86400000)
      if not v then return refuse('item[' .. i .. '].backoff_base_ms', raw, 'an integer from 0 to 86400000') end
    elseif name == 'backoff_multiplier_pct' then
      v = arg_uint(v, 100, 10000)
      if not v then return refuse('item[' .. i .. '].backoff_multiplier_pct', raw, 'an integer from 100 to 10000') end
    elseif name == 'backoff_cap_ms' then
      v = arg_uint(v, 0, 604800000)
      if not v then return refuse('item[' .. i .. '].backoff_cap_ms', raw, 'an integer from 0 to 604800000') end
    elseif name == 'jitter_pct' then
      v = arg_uint(v, 0, 100)
      if not v then return refuse('item[' .. i .. '].jitter_pct', raw, 'an integer from 0 to 100') end
    elseif name == 'headers' then
      if not v or #v > 4096 then
        return refuse('item[' .. i .. '].headers', v and #v, '0 to 4096 bytes long')
      end
    else
      return refuse('item[' .. i .. '].pairs', name, 'names from kind, priority, lane, delay_ms, user, tags, max_attempts, backoff_base_ms, backoff_multiplier_pct, backoff_cap_ms, jitter_pct, headers')
    end
    if arg_seen_item[name] == i then
      return refuse('item[' .. i .. '].' .. name, 2, 'given at most once')
    end
    arg_seen_item[name] = i
    arg_bytes = arg_bytes + #raw
    if v ~= nil then
      entry[filled + 1] = name
      entry[filled + 2] = raw
      entry[name] = v
      filled = filled + 2
    end
  end
  arg_at = arg_at + 2 * size
  item_pairs[i] = entry
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end
if arg_bytes > 16777216 then
  return refuse('the items of a call', arg_bytes, 'at most 16777216 bytes')
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

local conf, refused = open_queue()
if refused then return refused end

local keys, seen, answers = {}, {}, {}
for i = 1, item_count do keys[i] = task .. item_id[i] end
local some_known = redis.call('EXISTS', unpack(keys)) > 0

if not conf.exists then redis.call('HSET', config, 'layout', LAYOUT, 'layout_min', LAYOUT, 'clock', 'server') end
local place = redis.call('HINCRBY', config, 'place', item_count) - item_count
local created, by_lane, payloads = {}, {}, {}
for i = 1, item_count do
  local id, own, stamp = item_id[i], item_pairs[i], rid .. '/' .. i
  local known = seen[id] or (some_known and redis.call('HGET', keys[i], 'rid'))
  if known then
    answers[i] = { known == stamp and 'created' or 'exists' }
  else
    seen[id], answers[i], created[#created + 1] = stamp, { 'created' }, id
    redis.call('HSET', keys[i], 'rid', stamp, 'created_ms', conf.now_text, unpack(own))
    if #item_payload[i] > 1024 then redis.call('HSET', keys[i], 'size', #item_payload[i]) end
    payloads[#payloads + 1] = payload .. id
    payloads[#payloads + 1] = item_payload[i]
    local lane = own.lane or 'any'
    if own.delay_ms then
      delay_until(conf, conf.now + own.delay_ms, id, lane)
    else
      line_up(by_lane, lane, (own.priority or 5) * BAND + place + i, id)
    end
  end
end
if #created > 0 then
  redis.call('MSET', unpack(payloads))
  make_ready(by_lane)
  emit(conf, 'task.enqueued', table.concat(created, ' '), '')
  add_counts({ enqueued = #created })
end
return { 'ok', conf.now, answers }
