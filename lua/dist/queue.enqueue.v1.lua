#!lua
-- generated from lua/queue/enqueue.v1.lua by lua/bundle.py; do not edit
-- queue.enqueue.v1: put tasks into a queue, to be done at once or later.
-- Ids are the caller's. The same id under the same rid and index is a replay and answers `created` again; any other
-- use of a known id answers `exists` and changes nothing. `deduplicated` names the task that stands for this one: with the
-- same idempotency key (for a day unless configured), the same unique key (until that task has ended), or the same scope
-- (until its first lease; with coalesce=last this payload takes the place of its own). Tasks of one call stand in line in
-- the order of the items.
--
-- KEYS   config    hash          {base}:config
-- KEYS   task      prefix/hash   {base}:task:     id
-- KEYS   payload   prefix/string {base}:payload:  id
-- KEYS   ready     prefix/zset   {base}:ready:    lane
-- KEYS   lanes     set           {base}:lanes
-- KEYS   wake      prefix/list   {base}:wake:     lane
-- KEYS   delayed   zset          {base}:delayed
-- KEYS   deadlines zset          {base}:deadlines
-- KEYS   once      hash          {base}:once
-- KEYS   once_due  zset          {base}:once:due
-- KEYS   by_user   prefix/zset   {base}:by:user:  id
-- KEYS   by_tag    prefix/zset   {base}:by:tag:   id
-- KEYS   children  prefix/zset   {base}:children: id
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
-- PAIR   fallback  lane
-- PAIR   fallback_after_ms int 0..315360000000
-- PAIR   delay_ms  int 0..315360000000 ?=0
-- PAIR   run_after_ms  int 0..   ?=0
-- PAIR   expires_at_ms int 1..
-- PAIR   timeout_ms int 1..315360000000
-- PAIR   user      id
-- PAIR   tags      ids 1..16
-- PAIR   parent    id
-- PAIR   idempotency_key id
-- PAIR   unique    id
-- PAIR   scope     id
-- PAIR   coalesce  enum first|last ?=first
-- PAIR   result_ms int 0..315360000000
-- PAIR   max_attempts            int 1..1000
-- PAIR   backoff_base_ms         int 0..86400000
-- PAIR   backoff_multiplier_pct  int 100..10000
-- PAIR   backoff_cap_ms          int 0..604800000
-- PAIR   jitter_pct              int 0..100
-- PAIR   headers   bytes 0..4096
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      created
-- EACH   item      exists
-- EACH   item      deduplicated id:id
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK ADEQ_DRAINING
-- EVENT  task.enqueued
-- COST   11 + n commands, 8 + 4n delayed ones, 5 more for each idempotency key, 3 for a scope, 1 for a user, tag, parent, unique key, O(n log m)
-- INCLUDE open_queue emit add_counts push_wake line_up make_ready index_task write_record
-- RARELY create_queue push_due delay_until await_deadline known_as find_twin refuse_new sweep_once hold_once hold_keys
-- RARELY merge_task

local LAYOUT = 1
local MAX_SAFE = 9007199254740991
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

if #KEYS ~= 15 then
  return redis.error_reply('ADEQ_ARG expected 15 keys, got ' .. #KEYS)
end
local config = KEYS[1]
local task = KEYS[2]
local payload = KEYS[3]
local ready = KEYS[4]
local lanes = KEYS[5]
local wake = KEYS[6]
local delayed = KEYS[7]
local deadlines = KEYS[8]
local once = KEYS[9]
local once_due = KEYS[10]
local by_user = KEYS[11]
local by_tag = KEYS[12]
local children = KEYS[13]
local events = KEYS[14]
local counters = KEYS[15]

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
  size = arg_uint(size, 0, 23)
  if not size then return refuse('item[' .. i .. '].pairs', ARGV[arg_at], 'an integer from 0 to 23') end
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
    elseif name == 'fallback' then
      v = arg_lane(v)
      if not v then return refuse('item[' .. i .. '].fallback', raw, 'any, group/<name> or group/<name>/inst/<name>') end
    elseif name == 'fallback_after_ms' then
      v = arg_uint(v, 0, 315360000000)
      if not v then return refuse('item[' .. i .. '].fallback_after_ms', raw, 'an integer from 0 to 315360000000') end
    elseif name == 'delay_ms' then
      if raw == '' then
        v = nil
      else
        v = arg_uint(v, 0, 315360000000)
        if not v then return refuse('item[' .. i .. '].delay_ms', raw, 'an integer from 0 to 315360000000') end
        if v == 0 then v = nil end
      end
    elseif name == 'run_after_ms' then
      if raw == '' then
        v = nil
      else
        v = arg_uint(v, 0, 9007199254740991)
        if not v then return refuse('item[' .. i .. '].run_after_ms', raw, 'an integer from 0 to 9007199254740991') end
        if v == 0 then v = nil end
      end
    elseif name == 'expires_at_ms' then
      v = arg_uint(v, 1, 9007199254740991)
      if not v then return refuse('item[' .. i .. '].expires_at_ms', raw, 'an integer from 1 to 9007199254740991') end
    elseif name == 'timeout_ms' then
      v = arg_uint(v, 1, 315360000000)
      if not v then return refuse('item[' .. i .. '].timeout_ms', raw, 'an integer from 1 to 315360000000') end
    elseif name == 'user' then
      if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
        return refuse('item[' .. i .. '].user', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
      end
    elseif name == 'tags' then
      v = arg_ids(v, 1, 16)
      if not v then return refuse('item[' .. i .. '].tags', raw, '1 to 16 ids with commas between them') end
    elseif name == 'parent' then
      if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
        return refuse('item[' .. i .. '].parent', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
      end
    elseif name == 'idempotency_key' then
      if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
        return refuse('item[' .. i .. '].idempotency_key', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
      end
    elseif name == 'unique' then
      if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
        return refuse('item[' .. i .. '].unique', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
      end
    elseif name == 'scope' then
      if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
        return refuse('item[' .. i .. '].scope', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
      end
    elseif name == 'coalesce' then
      if raw == '' then
        v = nil
      else
        if v ~= 'first' and v ~= 'last' then
          return refuse('item[' .. i .. '].coalesce', v, 'one of first, last')
        end
        if v == 'first' then v = nil end
      end
    elseif name == 'result_ms' then
      v = arg_uint(v, 0, 315360000000)
      if not v then return refuse('item[' .. i .. '].result_ms', raw, 'an integer from 0 to 315360000000') end
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
      return refuse('item[' .. i .. '].pairs', name, 'names from kind, priority, lane, fallback, fallback_after_ms, delay_ms, run_after_ms, expires_at_ms, timeout_ms, user, tags, parent, idempotency_key, unique, scope, coalesce, result_ms, max_attempts, backoff_base_ms, backoff_multiplier_pct, backoff_cap_ms, jitter_pct, headers')
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

local arg_rare
local function create_queue(...) return arg_rare().create_queue(...) end
local function delay_until(...) return arg_rare().delay_until(...) end
local function await_deadline(...) return arg_rare().await_deadline(...) end
local function known_as(...) return arg_rare().known_as(...) end
local function find_twin(...) return arg_rare().find_twin(...) end
local function refuse_new(...) return arg_rare().refuse_new(...) end
local function sweep_once(...) return arg_rare().sweep_once(...) end
local function hold_keys(...) return arg_rare().hold_keys(...) end
local function merge_task(...) return arg_rare().merge_task(...) end

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

-- index_task(conf, by_index, id, own): note a new task for the indexes of its user, tags and parent.
-- NEEDS by_user by_tag children line_up
local function index_task(conf, by_index, id, own)
  if own.user then line_up(by_index, by_user .. own.user, conf.now_text, id) end
  if own.tags then
    local seen = {}
    for _, tag in ipairs(own.tags) do
      if not seen[tag] then line_up(by_index, by_tag .. tag, conf.now_text, id) end
      seen[tag] = true
    end
  end
  if own.parent then line_up(by_index, children .. own.parent, conf.now_text, id) end
end

-- write_record(id, stamp, conf, own, size): the record of a new task. `ties` says that it has more than the usual at its
-- first lease, its return or its end. An older task of this id may have left a stub, whose settlement stays known.
-- NEEDS task trace
local function write_record(id, stamp, conf, own, size)
  local key = task .. id
  redis.call('HSET', key, 'rid', stamp, 'created_ms', conf.now_text, unpack(own))
  if size > 1024 then redis.call('HSET', key, 'size', size) end
  if trace ~= '' then redis.call('HSET', key, 'trace', trace) end
  if own.unique or own.scope or own.fallback or own.expires_at_ms or own.timeout_ms or own.result_ms then
    redis.call('HSET', key, 'ties', '1')
  end
  if conf.some_known and redis.call('HDEL', key, 'gone') == 1 then redis.call('PERSIST', key) end
end

local arg_made
function arg_rare()
  if arg_made then return arg_made end

-- create_queue(conf): note of a new queue which layout its data has, and that it uses the server's clock.
-- NEEDS config
local function create_queue(conf)
  if conf.exists then return end
  redis.call('HSET', config, 'layout', LAYOUT, 'layout_min', LAYOUT, 'clock', 'server')
end

-- push_due(lane): leave a token for a time within the longest block, 10 s, of which nobody who is blocked has learned: who
-- takes it blocks until then. In a pause, too, for it tells of a time and not of a task. It goes by itself.
-- NEEDS wake
local function push_due(lane)
  if redis.call('EXISTS', wake .. lane) == 0 then redis.call('LPUSH', wake .. lane, '1') end
  redis.call('PEXPIRE', wake .. lane, 60000)
end

-- delay_until(conf, due_ms, id, lane): put a task aside.
-- NEEDS delayed push_due
local function delay_until(conf, due_ms, id, lane)
  redis.call('ZADD', delayed, due_ms, id)
  if due_ms - conf.now < 10000 then push_due(lane) end
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

-- known_as(id, stamp): what an id answers that is in use: created to the call that made it, else exists; nil if it is free.
-- NEEDS task
local function known_as(id, stamp)
  local row = redis.call('HMGET', task .. id, 'rid', 'created_ms')
  if row[1] == stamp then return 'created' end
  if row[2] then return 'exists' end
end

-- find_twin(conf, own, stamp): the task that stands for a new one, and by what: by what this call was answered before
-- (rid), its idempotency key (key), its scope, or its unique key; nil if none does.
-- NEEDS once task
local function find_twin(conf, own, stamp)
  local names = { 'rid', 'key', 'scope', 'unique' }
  local found = redis.call('HMGET', once, 'rid:' .. stamp, 'key:' .. (own.idempotency_key or ''),
    'scope:' .. (own.scope or ''), 'unique:' .. (own.unique or ''))
  for i, name in ipairs(names) do
    local id, until_ms = string.match(found[i] or '', '^(%S+) ?(%d*)$')
    -- Of a task that was evicted a key may be left.
    local stands = id and (until_ms ~= '' and tonumber(until_ms) > conf.now
      or until_ms == '' and redis.call('HEXISTS', task .. id, 'created_ms') == 1)
    if stands then return id, name end
  end
end

-- refuse_new(conf, ids, envelopes, stamps): the error of a queue that is being drained, unless no task of the call is new.
-- NEEDS known_as find_twin
local function refuse_new(conf, ids, envelopes, stamps)
  local seen = {}
  for i, id in ipairs(ids) do
    if not seen[id] and not known_as(id, stamps[i]) and not find_twin(conf, envelopes[i], stamps[i]) then
      return redis.error_reply('ADEQ_DRAINING this queue is being drained and takes no new tasks: resume it, or use another')
    end
    seen[id] = true
  end
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

-- hold_keys(conf, id, own, is_twin): let a task stand for what its envelope says is to be there only once: the idempotency
-- key for its time, the others (not for a twin, which has its own) until they are untied.
-- NEEDS config task hold_once
local function hold_keys(conf, id, own, is_twin)
  if own.idempotency_key then
    conf.keep_ms = conf.keep_ms or redis.call('HGET', config, 'idempotency_ms') or 86400000
    hold_once(conf, 'key:' .. own.idempotency_key, id, conf.keep_ms)
    if is_twin then redis.call('HSETNX', task .. id, 'idempotency_key', own.idempotency_key) end
  end
  if own.unique and not is_twin then hold_once(conf, 'unique:' .. own.unique, id) end
  if own.scope and not is_twin then hold_once(conf, 'scope:' .. own.scope, id) end
end

-- merge_task(conf, twin, by, stamp, own, data): answer an enqueue with a task that is there, and was found by that name. The
-- call may come again when that task has ended, so the answer is remembered; and with coalesce=last, a scope's task gets the
-- newcomer's payload.
-- NEEDS task payload hold_once hold_keys
local function merge_task(conf, twin, by, stamp, own, data)
  if by == 'rid' then return end
  hold_once(conf, 'rid:' .. stamp, twin, 60000)
  if by == 'key' then return end
  hold_keys(conf, twin, own, true)
  if by == 'scope' and own.coalesce == 'last' then
    redis.call('SET', payload .. twin, data)
    redis.call('HSET', task .. twin, 'size', #data)
  end
end

  arg_made = { create_queue = create_queue, delay_until = delay_until, await_deadline = await_deadline, known_as = known_as, find_twin = find_twin, refuse_new = refuse_new, sweep_once = sweep_once, hold_keys = hold_keys, merge_task = merge_task }
  return arg_made
end

local conf, refused = open_queue()
if refused then return refused end
local stamps, keys = {}, {}
for i = 1, item_count do
  local own = item_pairs[i]
  if not own.fallback ~= not own.fallback_after_ms then
    return refuse('item[' .. i .. '].fallback', own.fallback, 'a lane, and given together with fallback_after_ms')
  end
  stamps[i], keys[i] = rid .. '/' .. i, task .. item_id[i]
end
if conf.draining then refused = refuse_new(conf, item_id, item_pairs, stamps) end
if refused then return refused end

conf.some_known = redis.call('EXISTS', unpack(keys)) > 0
if not conf.exists then create_queue(conf) end
local place = redis.call('HINCRBY', config, 'place', item_count) - item_count
local answers, created, seen, payloads, by_lane, by_index = {}, {}, {}, {}, {}, {}
for i = 1, item_count do
  local id, own, twin, by = item_id[i], item_pairs[i], nil, nil
  local keyed = own.idempotency_key or own.unique or own.scope
  local known = seen[id] and 'exists' or (conf.some_known and known_as(id, stamps[i]))
  if keyed and known ~= 'created' then twin, by = find_twin(conf, own, stamps[i]) end
  if twin and (by == 'rid' or not known) then
    answers[i] = { 'deduplicated', twin }
    merge_task(conf, twin, by, stamps[i], own, item_payload[i])
  elseif known then
    answers[i], seen[id] = { known }, true
  else
    answers[i], seen[id], created[#created + 1] = { 'created' }, true, id
    if own.scope then
      redis.call('SET', payload .. id, item_payload[i])  -- for a later item may replace it
    else
      payloads[#payloads + 1], payloads[#payloads + 2] = payload .. id, item_payload[i]
    end
    write_record(id, stamps[i], conf, own, #item_payload[i])
    if keyed then hold_keys(conf, id, own, false) end
    index_task(conf, by_index, id, own)
    local due_ms = math.max(conf.now + (own.delay_ms or 0), own.run_after_ms or 0)
    if due_ms > conf.now then
      delay_until(conf, due_ms, id, own.lane or 'any')
    else
      line_up(by_lane, own.lane or 'any', (own.priority or 5) * BAND + place + i, id)
    end
    if own.fallback or own.expires_at_ms then await_deadline(conf, id, due_ms) end
  end
end
if conf.held then sweep_once(conf, 10 + 2 * conf.held) end
if #created > 0 then
  if #payloads > 0 then redis.call('MSET', unpack(payloads)) end
  for index, members in pairs(by_index) do redis.call('ZADD', index, unpack(members)) end
  make_ready(conf, by_lane)
  emit(conf, 'task.enqueued', table.concat(created, ' '), '')
  add_counts({ enqueued = #created })
end
return { 'ok', conf.now, answers }
