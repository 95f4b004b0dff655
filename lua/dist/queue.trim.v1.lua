#!lua flags=allow-oom
-- generated from lua/queue/trim.v1.lua by lua/bundle.py; do not edit
-- queue.trim.v1: delete ended tasks beyond the age and number that the queue keeps, and expired keys of `once`. Claims
-- of workers also do this. It removes nothing else. `more` is 1 if some may be left, because a call sends at most about
-- 1,500 commands. Repeating it leaves the same state, but returns another count.
--
-- DATA   config        hash          {base}:config
-- DATA   task          prefix/hash   {base}:task:         id
-- DATA   payload       prefix/string {base}:payload:      id
-- DATA   result        prefix/string {base}:result:       id
-- DATA   log           prefix/list   {base}:log:          id
-- DATA   ended_runs    prefix/list   {base}:ended_runs:   id
-- DATA   steps         prefix/hash   {base}:steps:        id
-- DATA   reply         prefix/string {base}:reply:        id
-- DATA   finished      zset          {base}:finished
-- DATA   dead          zset          {base}:dead
-- DATA   once          hash          {base}:once
-- DATA   once_due      zset          {base}:once:due
-- DATA   by_user       prefix/zset   {base}:by:user:      label
-- DATA   by_tag        prefix/zset   {base}:by:tag:       label
-- DATA   children      prefix/zset   {base}:children:     id
-- DATA   ends          zset          {base}:ends
-- DATA   groups_config hash          {base}:events:config
-- DATA   counters      hash          {base}:counters
-- DATA   events        stream        {base}:events
-- ARGV   limit     int 1..1000   ?=1000
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int removed:int more:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.removed
-- ROLE   operate
-- REPLAY state
-- FLAGS  allow-oom
-- COST   15 + n commands, 1 more for a dead one, 2 for a stub, 1 for each user, tag and parent, O(n log m); at most 1,900 commands, 19,000 steps

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
  if not v or #v > 16 or (v ~= '0' and not arg_find(v, '^[1-9]%d*$')) then return nil end
  local n = v + 0
  if n >= min and n <= max then return n end
end

local KEYS, ARGV = KEYS, ARGV
if #KEYS ~= 2 then
  return redis.error_reply('ADEQ_ARG expected 2 keys, got ' .. #KEYS)
end

do
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{queue:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:queue:[%w._@+-]+):config$') or string.match(KEYS[1], '^([%w._@+-]+:{queue:[%w._@+-]+/[%w._@+-]+}):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{queue:<name>}:config, <prefix>:{<slot>}:queue:<name>:config, <prefix>:{queue:<name>/<tag>}:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. '!operate' then return refuse('key gate', KEYS[2], arg_base .. '!operate') end
  KEYS = { arg_base .. ':config', arg_base .. ':task:', arg_base .. ':payload:', arg_base .. ':result:', arg_base .. ':log:', arg_base .. ':ended_runs:', arg_base .. ':steps:', arg_base .. ':reply:', arg_base .. ':finished', arg_base .. ':dead', arg_base .. ':once', arg_base .. ':once:due', arg_base .. ':by:user:', arg_base .. ':by:tag:', arg_base .. ':children:', arg_base .. ':ends', arg_base .. ':events:config', arg_base .. ':counters', arg_base .. ':events' }
end

local limit = ARGV[1]
if limit == '' then
  limit = 1000
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

local arg_rare

-- add_count(ctx, name, n): count in this call; write_counts stores it.
local function add_count(ctx, name, n)
  ctx.counts[name] = (ctx.counts[name] or 0) + n
end

-- count_existing(keys): how many of these keys exist.
local function count_existing(keys)
  local found = 0
  for first = 1, #keys, 7000 do found = found + redis.call('EXISTS', unpack(keys, first, math.min(first + 6999, #keys))) end
  return found
end

-- emit(ctx, event, id, detail): add an entry to the stream, if the noun keeps events. detail: `name=value` words, or
-- ''. The trace is ctx.trace, that of the task, or else that of the call.
local function emit(ctx, event, id, detail) local events = KEYS[19]
  if ctx.settings_events_max == 0 then return end
  local source = ctx.restricted and '' or source  -- of the call: it is also that of a new task, and its tier may hide it
  if detail ~= '' and source == '' and trace == '' and not ctx.trace then
    redis.call('XADD', events, 'MAXLEN', '~', ctx.settings_events_max, '*', 'event', event, 'timestamp', ctx.now_text, 'id', id,
      'payload', detail)
    return
  end
  local entry = { 'event', event, 'timestamp', ctx.now_text, 'id', id }
  if detail ~= '' then entry[7], entry[8] = 'payload', detail end
  if source ~= '' then entry[#entry + 1] = 'source'; entry[#entry + 1] = source end
  local traced = ctx.trace or trace
  if traced ~= '' then entry[#entry + 1] = 'trace'; entry[#entry + 1] = traced end
  redis.call('XADD', events, 'MAXLEN', '~', ctx.settings_events_max, '*', unpack(entry))  -- at most 12: fields of an event
end

-- oldest_beyond(ctx, set, keep_ms, max, limit): the oldest members of a set, which is sorted by times (ms), beyond an age (nil: none) and
-- a number, at most limit: their ids and their times, in lists.
local function oldest_beyond(ctx, set, keep_ms, max, limit)
  local found, excess = {}, math.min(redis.call('ZCARD', set) - max, limit)
  if keep_ms then
    found = redis.call('ZRANGE', set, '-inf', ctx.now - keep_ms, 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
  end
  if 2 * excess > #found then found = redis.call('ZRANGE', set, 0, excess - 1, 'WITHSCORES') end
  local ids, since = {}, {}
  for i = 1, #found / 2 do ids[i], since[i] = found[2 * i - 1], tonumber(found[2 * i]) end
  return ids, since
end

-- read_clock(layout_min, clock, chosen): the time in ms, as a number and as text; or nil and the error to return, if
-- the layout of these scripts or the clock of the call does not fit the stored data. chosen: the clock of a base that
-- this call may create.
local function read_clock(layout_min, clock, chosen)
  if tonumber(layout_min or 2) > 2 then
    return nil, redis.error_reply('ADEQ_LAYOUT this data needs scripts of layout ' .. layout_min
      .. ' or newer, these are of layout ' .. 2 .. ': upgrade this client')
  end
  if ((clock or chosen) == 'test') ~= (now_ms > 0) then
    if chosen and not clock then return nil, redis.error_reply('ADEQ_CLOCK now_ms goes with clock=test, and only with it') end
    return nil, redis.error_reply('ADEQ_CLOCK now_ms must be '
      .. (clock == 'test' and 'sent: this base was created with clock=test'
        or '0: this base was not created with clock=test'))
  end
  if now_ms > 0 then return now_ms, string.format('%.0f', now_ms) end
  local time = redis.call('TIME')
  local text = time[1] .. string.sub('00000' .. time[2], -6, -4)  -- the first three of six digits
  return text + 0, text
end

-- open(clock, row): read what every call needs: the time, whether the base exists, and the settings that this script
-- uses as `ctx.settings_<name>`; or nil and the error to return. lua/tools/opening.py generates which settings these are,
-- and the first values of the fields of call.toml. clock: for a call that may create the base. row: the settings as they
-- are stored, if the caller has read them.
local function open(clock, row) local config = KEYS[1]
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'events_max', 'finished_max')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_events_max = tonumber(row[3] or 100000), settings_finished_max = tonumber(row[4] or 100000), counts = {}, work = 300 }
end

-- remove_tasks(ctx, ids, since, why, most): delete tasks that are in no set any more, with their index entries. A call
-- about a task may be sent again for 60 s after the task's time in `since` (none: now). Until then a stub remembers its
-- rid and last settlement. The stub of a child that has children stays as long as they do, so that a cancelled tree
-- finds them. most: about how many commands it may send, at least 1, or nil. Returns how many tasks, and what is left
-- of `most`. To delete a key costs up to three searches outside the CPU caches, even if there is no such key. So it deletes
-- only keys that may exist: without `progress_ms` there is no log, without `deliveries` there are no ended runs,
-- and without `durable` there are no steps.
local function remove_tasks(ctx, ids, since, why, most) local task, payload, result, log, ended_runs, steps, reply, by_user, by_tag, children = KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[13], KEYS[14], KEYS[15]
  if #ids == 0 then return 0, most end
  local keys, others, by_index, stubs, expiries, texts, touched, count, left = {}, {}, {}, {}, {}, {}, {}, 0, most or math.huge
  local function leave(index, id)
    local members = by_index[index]
    if not members then members, left = {}, left - 1 end
    if members[#members] ~= id then members[#members + 1] = id end  -- a tag may be given twice
    by_index[index] = members
  end
  local some_have  -- children; known once a task has a parent
  for i, id in ipairs(ids) do
    if left <= 0 then break end
    count, left = i, left - 1
    local key = task .. id
    local own = redis.call('HMGET', key, 'rid', 'settled', 'user', 'tags', 'parent', 'reply', 'progress_ms',
      'deliveries', 'earlier', 'settled_earlier', 'pruned', 'durable')
    local parent, at = own[5], #keys
    if parent and some_have == nil then some_have = arg_rare().have_children(ids) end
    local linked = parent and some_have and parent ~= id and redis.call('EXISTS', children .. id) == 1
    keys[at + 1], keys[at + 2], others[#others + 1] = key, payload .. id, result .. id
    if not own[6] then others[#others + 1] = reply .. id end  -- that of an older task of this id
    if own[7] or not own[1] then keys[#keys + 1] = log .. id end  -- without a rid, the record is lost
    if own[8] or not own[1] then keys[#keys + 1] = ended_runs .. id end
    if own[12] or not own[1] then keys[#keys + 1] = steps .. id end
    if own[3] then leave(by_user .. own[3], id) end
    for tag in string.gmatch(own[4] or '', '[^,]+') do leave(by_tag .. tag, id) end
    if parent and not linked then leave(children .. parent, id) end
    if linked then touched[#touched + 1] = id end
    if parent and touched[#touched] ~= parent then touched[#touched + 1] = parent end
    local left_ms = math.min(60000, (since[i] or ctx.now) + 60000 - ctx.now)
    if (left_ms > 0 or linked) and own[1] then
      left = left - 2
      stubs[#stubs + 1] = arg_rare().stub_of(key, own, why, linked)
      if not linked then
        texts[left_ms] = texts[left_ms] or string.format('%.0f', left_ms)  -- a conversion costs as much as a command
        expiries[#stubs] = texts[left_ms]
      end
    end
  end
  if count_existing(others) > 0 then
    for _, key in ipairs(others) do keys[#keys + 1] = key end
  end
  for first = 1, #keys, 7000 do redis.call('DEL', unpack(keys, first, math.min(first + 6999, #keys))) end
  for index, members in pairs(by_index) do
    for first = 1, #members, 7000 do redis.call('ZREM', index, unpack(members, first, math.min(first + 6999, #members))) end
  end
  for at, stub in ipairs(stubs) do
    redis.call('HSET', unpack(stub))  -- at most 13: the fields above
    if expiries[at] then redis.call('PEXPIRE', stub[1], expiries[at]) end
  end
  for _, id in ipairs(touched) do arg_rare().shorten_family(ctx, id) end
  return count, left
end

-- sweep_once(ctx, limit): delete expired fields of `once`, at most limit. Returns the number.
local function sweep_once(ctx, limit) local once, once_due = KEYS[11], KEYS[12]
  local fields = redis.call('ZRANGE', once_due, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, limit)
  if #fields == 0 then return 0 end
  -- at most 4,010: limit, as add_tasks gives it for 1,000 items
  redis.call('ZREM', once_due, unpack(fields))
  redis.call('HDEL', once, unpack(fields))
  return #fields
end

-- trim_set(ctx, set, keep_ms, max, limit): delete the oldest of the finished or the dead beyond an age (nil: none)
-- and a number, at most limit, and as many as ctx.work allows; how many. ctx.untrimmed: there are more. The dead go with an event each.
local function trim_set(ctx, set, keep_ms, max, limit) local dead = KEYS[10]
  local ids, since = oldest_beyond(ctx, set, keep_ms, max, limit)
  if #ids == 0 then return 0 end
  local count, left = remove_tasks(ctx, ids, since, 'trimmed', math.max(ctx.work, 50))
  ctx.work = left - (set == dead and count or 0)
  ctx.untrimmed = ctx.untrimmed or count < #ids
  for i = 1, set == dead and count or 0 do emit(ctx, 'task.removed', ids[i], 'reason=retention') end
  redis.call('ZREMRANGEBYRANK', set, 0, count - 1)
  local counter = set == dead and 'dropped' or 'trimmed'
  add_count(ctx, counter, count)
  return count
end

-- trim_ended(ctx, limit, known): delete ended tasks beyond the age and the number that the queue keeps, at most limit finished
-- and limit dead ones. Returns how many. Once a minute it also trims old events in whole blocks, unless groups may hold them: then
-- reads of these groups do. known: when the caller did all this last; 0: never. It reads presence_ms for sweep_workers, and
-- history_ms for the history.
local function trim_ended(ctx, limit, known) local config, finished, dead, groups_config, events = KEYS[1], KEYS[9], KEYS[10], KEYS[17], KEYS[19]
  local row = redis.call('HMGET', config, 'finished_keep_ms', 'dead_keep_ms', 'dead_max', 'events_keep_ms', 'presence_ms', 'history_ms')
  local finished_keep_ms, dead_keep_ms = tonumber(row[1] or 604800000), tonumber(row[2] or 2592000000)
  ctx.presence_ms, ctx.history_ms = tonumber(row[5] or 30000), tonumber(row[6] or 0)
  if math.floor(ctx.now / 60000) ~= math.floor(known / 60000) and ctx.now >= tonumber(redis.call('HGET', groups_config, 'held_ms') or 0) then
    local oldest_ms = math.max(0, ctx.now - tonumber(row[4] or 604800000))
    redis.call('XTRIM', events, 'MINID', '~', string.format('%.0f', oldest_ms))
  end
  return trim_set(ctx, finished, finished_keep_ms, ctx.settings_finished_max, limit)
    + trim_set(ctx, dead, dead_keep_ms, tonumber(row[3] or 100000), limit)
end

-- write_counts(ctx): add what this call has counted to the totals, once a call and not once a task. A number is added to its counter,
-- a table of buckets to one counter for each bucket, and the sum of its values to another.
local function write_counts(ctx) local counters = KEYS[18]
  for name, counted in pairs(ctx.counts) do
    if type(counted) == 'number' then
      redis.call('HINCRBY', counters, name, counted)
    else
      for bound, n in pairs(counted) do
        -- HMGET and HSET for all counters of the call would take 5 % more instructions: each name is searched in the hash.
        redis.call('HINCRBY', counters, bound == 'sum' and name .. '_sum' or name .. ':' .. bound, n)
      end
    end
  end
end

local arg_made
function arg_rare()
  if arg_made then return arg_made end

-- have_children(ids): whether some of these tasks have children.
local function have_children(ids) local children = KEYS[15]
  local keys = {}
  for i, id in ipairs(ids) do keys[i] = children .. id end
  return count_existing(keys) > 0
end

-- shorten_family(ctx, id): remove links that are no longer needed. If a task is removed before its children, its stub
-- stays among its parent's children as a link, by which a cancelled tree finds them. A link without children is
-- removed. If a link's only child is a link, the child takes its place, behind all others, with the stamp of the last
-- cancelled tree. So there are fewer links than tasks.
-- LATE
local function shorten_family(ctx, id) local task, children, ends = KEYS[2], KEYS[15], KEYS[16]
  local link = redis.call('HMGET', task .. id, 'gone', 'link', 'pruned')
  -- at most 1,100: each round takes out a link, and there is one for each task of the call, and two more
  while link[1] and link[2] do
    local parent, kids = link[2], redis.call('ZRANGE', children .. id, 0, 1, 'WITHSCORES')
    local only = #kids == 2 and redis.call('HMGET', task .. kids[1], 'gone', 'pruned')
    if #kids == 4 or (only and not only[1]) then return end
    redis.call('HDEL', task .. id, 'link', 'pruned')
    redis.call('PEXPIRE', task .. id, 60000)
    local score = redis.call('ZSCORE', children .. parent, id)
    redis.call('ZREM', children .. parent, id)
    if only then
      redis.call('DEL', children .. id)
      if parent == kids[1] then  -- parent and child are each other's parent
        redis.call('HDEL', task .. parent, 'link', 'pruned')
        redis.call('PEXPIRE', task .. parent, 60000)
        return
      end
      redis.call('HSET', task .. kids[1], 'link', parent)
      redis.call('ZADD', children .. parent, string.format('%.0f', math.max(score or kids[2], kids[2]) + 1), kids[1])
      if tonumber(link[3] or 0) > tonumber(only[2] or 0) then
        redis.call('HSET', task .. kids[1], 'pruned', link[3])
        redis.call('ZADD', ends, ctx.now_text, 't ' .. kids[1] .. ' - 0 ' .. link[3])
      end
      return
    end
    id, link = parent, redis.call('HMGET', task .. parent, 'gone', 'link', 'pruned')
  end
end

-- stub_of(key, own, why, linked): the arguments of the HSET that writes the stub of a deleted task. own: the fields of its
-- record, as remove_tasks reads them. linked: the stub is a link.
local function stub_of(key, own, why, linked)
  local settled = own[2] or own[10] or nil
  local stub = { key, 'gone', why, 'rid', own[1], settled and 'settled', settled }
  if own[9] then stub[#stub + 1], stub[#stub + 2] = 'earlier', own[9] end
  if linked then stub[#stub + 1], stub[#stub + 2] = 'link', own[5] end
  if linked and own[11] then stub[#stub + 1], stub[#stub + 2] = 'pruned', own[11] end
  return stub
end

  arg_made = { have_children = have_children, shorten_family = shorten_family, stub_of = stub_of }
  return arg_made
end

local ctx, refused = open()
if refused then return refused end

ctx.work = 1500
local removed = trim_ended(ctx, limit, 0)
local forgotten = sweep_once(ctx, limit)
write_counts(ctx)
return { 'ok', ctx.now, removed, (ctx.untrimmed or removed >= limit or forgotten == limit) and 1 or 0 }
