-- ends.lua: takes messages from a place and puts them back. The kinds of places:
-- `right`, `left`: a list. The old workers take from this end.
-- `times`, `ms`: a sorted set by time, in seconds or milliseconds. A message is `<score> <member>`. While a program of the old
-- system enqueues what is due (`is_guarded`), only messages that are due in more than a minute are taken.
-- `stream`: a stream. A message is the fields of an entry that was not yet delivered to GROUP. Entries with more than
-- MOST_FIELDS stay where they are: one command could not write them back.
-- `wait`, `prioritized`, `delayed`: of BullMQ, see `queue_of`.

local GROUP = 'ade-workers'
local MOST_FIELDS = 1000  -- names and values of an entry; `waiting.py` has it, too
local MOST_PASSED = 100  -- entries with more, in one call
local POP = { right = 'RPOP', left = 'LPOP', wait = 'RPOP' }
local PUSH = { right = 'RPUSH', left = 'LPUSH', wait = 'RPUSH' }
local TOP = { right = -1, left = 0, wait = -1 }
local BULL = { wait = true, prioritized = true, delayed = true }

-- The reply of a command, false if it fails: a key has another type, or a value is no number. After a message was popped or
-- pushed, an error would end the script before it notes that. The message would be lost, or be pushed twice.
local function try(...)
  local reply = redis.pcall(...)
  return not (type(reply) == 'table' and reply.err) and reply
end

-- The start of all keys of a queue of BullMQ. If it is paused, BullMQ 5 renames `wait` to `paused`, and a later resume
-- overwrites `wait`. BullMQ 6 only keeps what an older one has paused. So jobs are taken from both, and go back to the
-- one that is in use.
local function queue_of(place) return string.match(place, '^(.*:)[^:]*$') end

-- A key of another type belongs to another program. If `wait` is one, an error would come after jobs were popped from `paused`.
local lists

local function lists_of(kind, place)
  if kind ~= 'wait' then return { place } end
  if lists then return lists end
  lists = {}
  for _, key in ipairs({ queue_of(place) .. 'paused', place }) do
    if redis.call('TYPE', key).ok == 'list' then lists[#lists + 1] = key end
  end
  return lists
end

local function list_in_use(kind, place)
  if kind ~= 'wait' then return place end
  local about = try('HMGET', queue_of(place) .. 'meta', 'paused', 'version') or {}
  local version = tonumber(string.match(about[2] or '', ':(%d+)') or 5)
  return about[1] and version < 6 and queue_of(place) .. 'paused' or place
end

-- The key by which BullMQ finds out that a job is a duplicate of this one. While pyadeq has the job, no other may be
-- ignored because of it.
local function free_deduplication(place, id)
  local name = try('HGET', queue_of(place) .. id, 'deid')
  local key = queue_of(place) .. 'de:' .. (name or '')
  if name and try('GET', key) == id then try('DEL', key) end
end

local function deduplicate(place, id)
  local job = try('HMGET', queue_of(place) .. id, 'deid', 'opts', 'timestamp')
  if not job or not job[1] then return end
  local key, known, options = queue_of(place) .. 'de:' .. job[1], pcall(cjson.decode, job[2] or '')
  local ttl = known and type(options) == 'table' and type(options.de) == 'table' and tonumber(options.de.ttl)
  if not ttl or ttl <= 0 then return try('SET', key, id, 'NX') end
  local now = redis.call('TIME')
  local rest = (tonumber(job[3]) or 0) + ttl - now[1] * 1000 - now[2] / 1000
  if rest >= 1 then try('SET', key, id, 'NX', 'PX', string.format('%.0f', rest)) end
end

-- Each field as <length>:<bytes>.
local function packed(fields)
  local parts = {}
  for i, field in ipairs(fields) do parts[i] = #field .. ':' .. field end
  return table.concat(parts)
end

local function unpacked(message)
  local fields, at = {}, 1
  while at <= #message do  -- at most 1,000: fields of an entry
    local colon = string.find(message, ':', at, true)
    local last = colon + tonumber(string.sub(message, at, colon - 1))
    fields[#fields + 1] = string.sub(message, colon + 1, last)
    at = last + 1
  end
  return fields
end

local from_id
local passed = 0

local function is_later(id, other)
  local ms, number = string.match(id, '^(%d+)%-(%d+)$')
  local other_ms, other_number = string.match(other, '^(%d+)%-(%d+)$')
  if ms ~= other_ms then return tonumber(ms) > tonumber(other_ms) end
  return tonumber(number) > tonumber(other_number)
end

-- The id and the fields of the first entry that waits in a stream and can be taken. What is passed on the way is noted, so
-- that the next call begins behind it.
local function first_entry(place)
  if not from_id then
    from_id = '-'
    local groups = redis.call('EXISTS', place) == 1 and redis.call('XINFO', 'GROUPS', place) or {}
    for _, group in ipairs(groups) do
      local about = {}
      for i = 1, #group, 2 do about[group[i]] = group[i + 1] end
      if about.name == GROUP then from_id = '(' .. about['last-delivered-id'] end
    end
    local noted = redis.call('HGET', KEYS[1], 'passed:' .. place)
    if noted and (from_id == '-' or is_later(noted, string.sub(from_id, 2))) then from_id = '(' .. noted end
  end
  while passed < MOST_PASSED do  -- at most 100: entries that are passed
    local entry = redis.call('XRANGE', place, from_id, '+', 'COUNT', 1)[1]
    if not entry then return end
    if #entry[2] <= MOST_FIELDS then return entry[1], entry[2] end
    passed, from_id = passed + 1, '(' .. entry[1]
    redis.call('HSET', KEYS[1], 'passed:' .. place, entry[1])
  end
end

local function is_set(kind)
  return not POP[kind] and kind ~= 'stream'
end

local function top(kind, place)
  if kind == 'stream' then
    local id, fields = first_entry(place)
    return id and packed(fields)
  end
  for _, list in ipairs(lists_of(kind, place)) do
    local message = redis.call('LINDEX', list, TOP[kind])
    if message then return message end
  end
end

local function remove(kind, place, member)
  redis.call('ZREM', place, member)
  if BULL[kind] then free_deduplication(place, member) end
end

-- Whether a program enqueues what is due: the key `guard` exists. If it is the hash of workers, one of them must have reported
-- in the last minute, or not yet: a killed worker stays in it. The sorted set with their last reports has a name beside it.
local function is_guarded(guard, now)
  local kind = redis.call('TYPE', guard).ok
  if kind ~= 'hash' then return kind ~= 'none' end
  local reports = queue_of(guard) .. 'heartbeat'
  local dead = try('ZCOUNT', reports, '-inf', string.format('%.0f', (now - 60) * 1000)) or 0
  return (try('ZCARD', reports) or 0) > dead or redis.call('HLEN', guard) > dead
end

local first_score

-- The last score that is due within a minute, if a program enqueues what is due, so that it may have read these members
-- already: they would run there, too. Else nil.
local function soon_until(kind, guard)
  if guard == '' then return end
  local now = redis.call('TIME')[1]
  if is_guarded(guard, now) then return (now + 60) * (kind == 'ms' and 1000 or 1) end
end

local function first_of(kind, guard)
  local soon = soon_until(kind, guard)
  return soon and string.format('(%.0f', soon) or '-inf'
end

local function pop(kind, place, guard)
  if POP[kind] then
    for _, list in ipairs(lists_of(kind, place)) do
      local message = redis.call(POP[kind], list)
      if message and BULL[kind] then free_deduplication(place, message) end
      if message then return message end
    end
    return false
  end
  if kind == 'stream' then
    local id, fields = first_entry(place)
    if not id then return false end
    redis.call('XDEL', place, id)
    return packed(fields)
  end
  first_score = first_score or first_of(kind, guard ~= place and guard or '')
  local found = redis.call('ZRANGEBYSCORE', place, first_score, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  if not found[1] then return false end
  remove(kind, place, found[1])
  return found[2] .. ' ' .. found[1]
end

local function push(kind, place, message)
  if kind == 'stream' then
    local fields = unpacked(message)
    return redis.call('XADD', place, '*', unpack(fields))  -- at most 1,000: entries with more are not taken
  end
  local score, member = nil, message
  if is_set(kind) then score, member = string.match(message, '^(%S+) (.*)$') end
  -- BullMQ would run a job without a hash, for instance one that was removed meanwhile.
  if BULL[kind] and redis.call('EXISTS', queue_of(place) .. member) == 0 then return end
  if score then
    redis.call('ZADD', place, score, member)
  else
    redis.call(PUSH[kind], list_in_use(kind, place), message)
  end
  if not BULL[kind] then return end
  deduplicate(place, member)
  try('ZADD', queue_of(place) .. 'marker', 0, '0')  -- it wakes a worker
  local counter = queue_of(place) .. 'pc'  -- new jobs come after this one, if their priority is the same
  local number = kind == 'prioritized' and tonumber(score) % 0x100000000 or 0
  local before = number > 0 and tonumber(try('INCRBY', counter, 0) or '')  -- nil: it is no number, and BullMQ cannot count there
  if before and number > before then try('SET', counter, string.format('%.0f', number)) end
end
