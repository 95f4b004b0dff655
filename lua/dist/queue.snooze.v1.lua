#!lua flags=allow-oom
-- generated from lua/queue/snooze.v1.lua by lua/bundle.py; do not edit
-- queue.snooze.v1: put leased tasks aside for a while; no attempt is spent. Then they are ready again, behind all
-- others. Past its deadline, a lease is lost here, even if no call has taken it back yet. A task that was being
-- cancelled ends as cancelled. A repeated call returns the same answer.
--
-- DATA   config      hash           {base}:config
-- DATA   running     hash           {base}:running
-- DATA   leases      zset           {base}:leases
-- DATA   task        prefix/hash    {base}:task:       id
-- DATA   payload     prefix/string  {base}:payload:    id
-- DATA   result      prefix/string  {base}:result:     id
-- DATA   log         prefix/list    {base}:log:        id
-- DATA   ended_runs  prefix/list    {base}:ended_runs: id
-- DATA   steps       prefix/hash    {base}:steps:      id
-- DATA   reply       prefix/string  {base}:reply:      id
-- DATA   ready       prefix/zset    {base}:ready:      lane
-- DATA   lanes       set            {base}:lanes
-- DATA   wake        prefix/list    {base}:wake:       lane
-- DATA   delayed     zset           {base}:delayed
-- DATA   blocked     zset           {base}:blocked
-- DATA   deadlines   zset           {base}:deadlines
-- DATA   finished    zset           {base}:finished
-- DATA   dead        zset           {base}:dead
-- DATA   control     prefix/list    {base}:control:    id
-- DATA   once        hash           {base}:once
-- DATA   by_user     prefix/zset    {base}:by:user:    label
-- DATA   by_tag      prefix/zset    {base}:by:tag:     label
-- DATA   children    prefix/zset    {base}:children:   id
-- DATA   dependents  prefix/zset    {base}:dependents: id
-- DATA   order       prefix/zset    {base}:order:      id
-- DATA   ends        zset           {base}:ends
-- DATA   limits      hash           {base}:limits
-- DATA   holding     prefix/zset    {base}:holding:    limit
-- DATA   waiting     prefix/zset    {base}:waiting:    limit
-- DATA   limit_lines zset           {base}:limit:lines
-- DATA   rates       zset           {base}:rates
-- DATA   weights     hash           {base}:weights
-- DATA   shares      prefix/zset    {base}:shares:     lane
-- DATA   channel     prefix/channel {base}:channel:    id
-- DATA   counters    hash           {base}:counters
-- DATA   events      stream         {base}:events
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- ITEM   token     id
-- ITEM   delay_ms  int 0..315360000000
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      snoozed due_ms:int
-- EACH   item      cancelled
-- EACH   item      lease_lost
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.released task.snoozed task.cancelled task.removed task.unblocked task.dead
-- ROLE   work
-- REPLAY token
-- FLAGS  allow-oom
-- COST   8 + 4n commands, 2 more if it is due within 10 s, 2 more if there are limits, 1 for each limit of a task, 4 for each limit queue that opens and 3 for each of up to 100 tasks that leave it, up to 100 + 2n limit queues and tasks, O(n log m); at most 37,000 commands, 470,000 steps

local MAX_SAFE = 9007199254740991
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
  if KEYS[2] ~= arg_base .. '!work' then return refuse('key gate', KEYS[2], arg_base .. '!work') end
  KEYS = { arg_base .. ':config', arg_base .. ':running', arg_base .. ':leases', arg_base .. ':task:', arg_base .. ':payload:', arg_base .. ':result:', arg_base .. ':log:', arg_base .. ':ended_runs:', arg_base .. ':steps:', arg_base .. ':reply:', arg_base .. ':ready:', arg_base .. ':lanes', arg_base .. ':wake:', arg_base .. ':delayed', arg_base .. ':blocked', arg_base .. ':deadlines', arg_base .. ':finished', arg_base .. ':dead', arg_base .. ':control:', arg_base .. ':once', arg_base .. ':by:user:', arg_base .. ':by:tag:', arg_base .. ':children:', arg_base .. ':dependents:', arg_base .. ':order:', arg_base .. ':ends', arg_base .. ':limits', arg_base .. ':holding:', arg_base .. ':waiting:', arg_base .. ':limit:lines', arg_base .. ':rates', arg_base .. ':weights', arg_base .. ':shares:', arg_base .. ':channel:', arg_base .. ':counters', arg_base .. ':events' }
end

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
local item_id, item_token, item_delay_ms = {}, {}, {}
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
  v = arg_uint(v, 0, 315360000000)
  if not v then return refuse('item[' .. i .. '].delay_ms', ARGV[arg_at + 2], 'an integer from 0 to 315360000000') end
  item_delay_ms[i] = v
  arg_at = arg_at + 3
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end

local arg_rare

-- add_count(ctx, name, n): count in this call; write_counts stores it.
local function add_count(ctx, name, n)
  ctx.counts[name] = (ctx.counts[name] or 0) + n
end

-- answer_waiters(ctx, id, how, value): store how a task ended under `reply:<id>` for reply_ms, and publish it. The key
-- lives twice as long; after reply_ms it is ignored.
-- EARLY
local function answer_waiters(ctx, id, how, value) local config, reply, channel = KEYS[1], KEYS[10], KEYS[34]
  ctx.reply_ms = ctx.reply_ms or tonumber(redis.call('HGET', config, 'reply_ms') or 3600000)
  redis.call('SET', reply .. id, string.format('%.0f ', ctx.now + ctx.reply_ms) .. how .. '\n' .. value,
    'PX', string.format('%.0f', math.max(2 * ctx.reply_ms, 60000)))
  redis.pcall('SPUBLISH', channel .. id, how)
end

-- push_due(lane): push a wake-up token for a due time within the next 10 s (the longest block), because blocked workers
-- do not know this time. The worker that takes the token claims, sees next_ms, and blocks until then. Also pushed while
-- the queue is paused. It expires after 60 s, but a token for ready tasks does not.
local function push_due(lane) local wake = KEYS[13]
  if redis.call('EXISTS', wake .. lane) == 0 then
    redis.call('LPUSH', wake .. lane, '1')
    redis.call('PEXPIRE', wake .. lane, 60000)
  else
    redis.call('PEXPIRE', wake .. lane, 60000, 'XX')
  end
end

-- await_deadline(ctx, id, since_ms, due): store the next deadline of a waiting task: its move to the next lane (or
-- its failure in the last lane), counted from since_ms, or its expiry if it was never leased; the earlier one. due: a
-- list for the ZADD of the caller.
local function await_deadline(ctx, id, since_ms, due) local task, deadlines = KEYS[4], KEYS[16]
  local own = redis.call('HMGET', task .. id, 'fallback_after_ms', 'fallback', 'expires_at_ms', 'deliveries')
  local at_ms = MAX_SAFE
  if own[1] then
    at_ms = since_ms + own[1]
    if at_ms - ctx.now < 10000 then
      for lane in string.gmatch(own[2] or '', '[^,]+') do push_due(lane) end  -- nobody may serve the first
    end
  end
  if own[3] and not own[4] then at_ms = math.min(at_ms, tonumber(own[3])) end
  if at_ms == MAX_SAFE then return end
  if due then
    due[#due + 1] = string.format('%.0f', at_ms)
    due[#due + 1] = id
  else
    redis.call('ZADD', deadlines, string.format('%.0f', at_ms), id)
  end
end

-- emit(ctx, event, id, detail): add an entry to the stream, if the noun keeps events. detail: `name=value` words, or
-- ''. The trace is ctx.trace, that of the task, or else that of the call.
local function emit(ctx, event, id, detail) local events = KEYS[36]
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

-- cancel_task(ctx, id, tied, detail): end a task as cancelled; the caller has taken it out of the set it was in.
-- EARLY
local function cancel_task(ctx, id, tied, detail) local task, finished = KEYS[4], KEYS[17]
  if tied then arg_rare().on_end(ctx, id, 'cancelled', '') end
  redis.call('HSET', task .. id, 'cancelled_ms', ctx.now_text)
  redis.call('ZADD', finished, ctx.now, id)
  emit(ctx, 'task.cancelled', id, detail or '')
  add_count(ctx, 'cancelled', 1)
  ctx.ended = ctx.ended + 1
end

-- on_close(ctx): generated from lua/queue/noun.toml: calls the hooks of chains.
local function on_close(ctx)
  if ctx.notes then arg_rare().chains_on_close(ctx) end
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

-- count_existing(keys): how many of these keys exist.
local function count_existing(keys)
  local found = 0
  for first = 1, #keys, 7000 do found = found + redis.call('EXISTS', unpack(keys, first, math.min(first + 6999, #keys))) end
  return found
end

-- remove_tasks(ctx, ids, since, why, most): delete tasks that are in no set any more, with their index entries. A call
-- about a task may be sent again for 60 s after the task's time in `since` (none: now). Until then a stub remembers its
-- rid and last settlement. The stub of a child that has children stays as long as they do, so that a cancelled tree
-- finds them. most: about how many commands it may send, at least 1, or nil. Returns how many tasks, and what is left
-- of `most`. To delete a key costs up to three searches outside the CPU caches, even if there is no such key. So it deletes
-- only keys that may exist: without `progress_ms` there is no log, without `deliveries` there are no ended runs,
-- and without `durable` there are no steps.
local function remove_tasks(ctx, ids, since, why, most) local task, payload, result, log, ended_runs, steps, reply, by_user, by_tag, children = KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[21], KEYS[22], KEYS[23]
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

-- trim_set(ctx, set, keep_ms, max, limit): delete the oldest of the finished or the dead beyond an age (nil: none)
-- and a number, at most limit, and as many as ctx.work allows; how many. ctx.untrimmed: there are more. The dead go with an event each.
local function trim_set(ctx, set, keep_ms, max, limit) local dead = KEYS[18]
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

-- retain(ctx): after tasks have ended, delete the oldest ended tasks above the maximum number. trim_ended handles the
-- maximum age. A deletion has costs of its own, which single ends share: it waits for up to 100 finished tasks, at most a
-- twentieth of the maximum. Claims delete the rest once a second.
local function retain(ctx) local config, finished, dead = KEYS[1], KEYS[17], KEYS[18]
  ctx.work = math.max(ctx.work, 50) + 25 * (ctx.ended + (ctx.counts.dead or 0))  -- as many go as come, whatever they have
  local max = ctx.settings_finished_max
  if ctx.ended > 0 and redis.call('ZCARD', finished) > max + math.min(100, math.floor(max / 20)) then
    trim_set(ctx, finished, nil, max, 100 + ctx.ended)
  end
  if ctx.counts.dead then
    local max = tonumber(redis.call('HGET', config, 'dead_max') or 100000)
    trim_set(ctx, dead, nil, max, 100 + ctx.counts.dead)
  end
end

-- write_counts(ctx): add what this call has counted to the totals, once a call and not once a task. A number is added to its counter,
-- a table of buckets to one counter for each bucket, and the sum of its values to another.
local function write_counts(ctx) local counters = KEYS[35]
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

-- close(ctx): finish a call that may have ended tasks: let features do what is left, keep the ended tasks within their
-- numbers, and store what the call has counted.
local function close(ctx)
  on_close(ctx)
  retain(ctx)
  write_counts(ctx)
end

-- delay_until(ctx, due_ms, id, lane): make a task delayed until due_ms. If that is within 10 s, wake a worker of the
-- lane.
local function delay_until(ctx, due_ms, id, lane) local delayed = KEYS[14]
  redis.call('ZADD', delayed, due_ms, id)
  if due_ms - ctx.now < 10000 then push_due(lane) end
end

-- on_unlease(ctx, ids): generated from lua/queue/noun.toml: calls the hooks of limits.
local function on_unlease(ctx, ids)
  if ctx.settings_limits > 0 then arg_rare().limits_on_unlease(ctx, ids) end
end

-- end_leases(ctx, ids): end the leases of these tasks.
local function end_leases(ctx, ids) local running, leases = KEYS[2], KEYS[3]
  if #ids == 0 then return end
  on_unlease(ctx, ids)
  -- at most 1,000: items, or leases of a sweep
  redis.call('HDEL', running, unpack(ids))
  redis.call('ZREM', leases, unpack(ids))
end

-- line_up(by_lane, lane, score, id): note a task for make_ready.
-- EARLY
local function line_up(by_lane, lane, score, id)
  local members = by_lane[lane]
  if not members then
    members = {}
    by_lane[lane] = members
  end
  members[#members + 1] = score
  members[#members + 1] = id
end

-- push_wake(ctx, lane, was_empty): push a wake-up token for a blocked worker, unless the queue is paused. One is enough: it
-- is a hint, not a task.
-- was_empty: the lane may have been empty. Then its token may be for a due time, and must not expire any more.
local function push_wake(ctx, lane, was_empty) local wake = KEYS[13]
  if (ctx.mode or ctx.settings_mode) == 'paused' then return was_empty and redis.call('PERSIST', wake .. lane) end
  if redis.call('EXISTS', wake .. lane) == 0 then redis.call('LPUSH', wake .. lane, '1') elseif was_empty then redis.call('PERSIST', wake .. lane) end
end

-- make_ready(ctx, by_lane): put tasks into their lanes and wake a worker for each lane. by_lane[lane] = { score, id,
-- score, id, … } (line_up). The shares of a lane with waiting tasks do not expire.
local function make_ready(ctx, by_lane) local ready, lanes, shares = KEYS[11], KEYS[12], KEYS[33]
  local names, begun = {}, 0
  for lane, members in pairs(by_lane) do
    names[#names + 1] = lane
    for first = 1, #members, 7000 do
      redis.call('ZADD', ready .. lane, unpack(members, first, math.min(first + 6999, #members)))
    end
    if ctx.settings_fair > 0 then redis.call('PERSIST', shares .. lane) end
  end
  for first = 1, #names, 7000 do
    begun = begun + redis.call('SADD', lanes, unpack(names, first, math.min(first + 6999, #names)))
  end
  for _, lane in ipairs(names) do push_wake(ctx, lane, begun > 0) end
end

-- note_run(ctx, id, ran, outcome, reason, error): keep how a run of a task has ended that did not complete it, for `runs`.
-- The last 20 are kept. reason and error may be empty.
local function note_run(ctx, id, ran, outcome, reason, error) local ended_runs = KEYS[8]
  local entry = ran .. ' ' .. ctx.now_text .. ' ' .. outcome .. ' ' .. reason .. ' ' .. error
  if redis.call('RPUSH', ended_runs .. id, entry) > 20 then redis.call('LTRIM', ended_runs .. id, -20, -1) end
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'events_max', 'finished_max', 'fair', 'mode', 'limits', 'fair_top')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_events_max = tonumber(row[3] or 100000), settings_finished_max = tonumber(row[4] or 100000), settings_fair = tonumber(row[5] or 0), settings_mode = row[6], settings_limits = tonumber(row[7] or 0), settings_fair_top = tonumber(row[8] or 0), counts = {}, ended = 0, work = 300, told = 0, next_ms = false, limit = row[7] and {}, steps = 100 }
end

-- read_lease(value): the parts of an entry of `running`, or nil if there is none. The entry is two halves with a bar
-- between: '<token> <score> <lane>[ ties][ limits=<keys>][ trace=<trace>][ cancel]', and what the record keeps once the lease has ended, `ran`:
-- '<started_ms> <attempt> <delivery> <crashes> <fence> <worker>'.
local function read_lease(value)
  if not value then return nil end
  local token, score, lane, flagged = string.match(value, '^(%S+) (%d+) ([^ |]+)()')
  local bar = string.find(value, '|', flagged, true)  -- plain searches: the flags may have 5 KB
  local flags, ran = string.sub(value, flagged, bar - 1), string.sub(value, bar + 1)
  local traced = string.find(flags, ' trace=', 1, true)
  local started_ms, attempt, delivery, crashes, fence, worker =
    string.match(ran, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%S+)$')
  return {
    token = token, score = score, lane = lane, tied = string.find(flags, ' ties', 1, true),
    cancelling = string.find(flags, ' cancel', 1, true), ran = ran, started_ms = tonumber(started_ms),
    attempt = tonumber(attempt), delivery = tonumber(delivery), crashes = tonumber(crashes), fence = tonumber(fence),
    worker = worker, trace = traced and string.match(flags, '^%S+', traced + 7) or nil,
  }
end

-- settled_as(token, answer): the text of the record field `settled`: '<token> <status>[ <number>]'. settled_before
-- reads it.
-- EARLY
local function settled_as(token, answer)
  if not answer[2] then return token .. ' ' .. answer[1] end
  return token .. ' ' .. answer[1] .. string.format(' %.0f', answer[2])
end

-- settled_before(id, token, answers): the earlier answer to a settlement with this token, if it is one of `answers`;
-- otherwise lease_lost.
local function settled_before(id, token, answers) local task = KEYS[4]
  for _, settled in ipairs(redis.call('HMGET', task .. id, 'settled', 'settled_earlier')) do
    local by, answer, value = string.match(settled or '', '^(%S+) (%S+) ?(%d*)$')
    if by == token and answers[answer] then return { answer, value ~= '' and tonumber(value) or nil } end
  end
  return { 'lease_lost' }
end

-- return_leases(ctx, ids, tokens, delays, waits): return leased tasks without counting an attempt: each to its old place
-- or, with delays, to wait for that many ms. waits: for what, if their runs were suspended: that is no end of a run. A lease
-- past its deadline is lost. One answer each: released with the place, snoozed or suspended with the due time, cancelled,
-- lease_lost.
local function return_leases(ctx, ids, tokens, delays, waits) local running, leases, task, deadlines = KEYS[2], KEYS[3], KEYS[4], KEYS[16]
  -- at most 1,000: items
  local held = redis.call('HMGET', running, unpack(ids))
  local deadline_ms = redis.call('ZMSCORE', leases, unpack(ids))
  local answers, ended, by_lane, due = {}, {}, {}, {}
  local verb = waits and 'suspended' or delays and 'snoozed' or 'released'
  for i, id in ipairs(ids) do
    local lease = read_lease(held[i])
    local lost = not lease or lease.token ~= tokens[i] or tonumber(deadline_ms[i] or 0) <= ctx.now
    if lost or ended[id] then
      answers[i] = settled_before(id, tokens[i], { [verb] = true, cancelled = true })
    else
      local back_ms = delays and ctx.now + delays[i] or ctx.now
      ended[#ended + 1], ended[id], ctx.trace = id, true, lease.trace
      answers[i] = lease.cancelling and { 'cancelled' } or { verb, delays and back_ms or lease.score % BAND }
      if not waits or lease.cancelling then note_run(ctx, id, lease.ran, answers[i][1], '', '') end
      local more = waits and not lease.cancelling and arg_rare().wait_fields(waits[i], lease.delivery) or {}
      redis.call('HSET', task .. id, 'ran', lease.ran, 'deliveries', lease.delivery, 'ready_ms', ctx.now_text,
        'settled', settled_as(lease.token, answers[i]), unpack(more))  -- at most 4: fields of a wait
      if lease.cancelling then
        cancel_task(ctx, id, lease.tied)
      else
        if delays then
          delay_until(ctx, back_ms, id, lease.lane)
          emit(ctx, waits and 'task.suspended' or 'task.snoozed', id, string.format('due_ms=%.0f', back_ms))
        else
          line_up(by_lane, lease.lane, lease.score, id)
          emit(ctx, 'task.released', id, '')
        end
        if lease.tied then await_deadline(ctx, id, back_ms, due) end
        add_count(ctx, verb, 1)
      end
    end
  end
  ctx.trace = nil
  if due[1] then redis.call('ZADD', deadlines, unpack(due)) end  -- at most 2,000: two for each item
  end_leases(ctx, ended)
  make_ready(ctx, by_lane)
  return answers
end

local arg_made
function arg_rare()
  if arg_made then return arg_made end

-- find_set(id, record): the set that a task is in, and its score there; nil if it is in none or has no record.
local function find_set(id, record) local leases, ready, delayed, blocked, finished, dead = KEYS[3], KEYS[11], KEYS[14], KEYS[15], KEYS[17], KEYS[18]
  if not record then return nil end
  for _, set in ipairs({ ready .. (record.lane or 'any'), leases, finished, delayed, dead, blocked }) do
    local score = redis.call('ZSCORE', set, id)
    if score then return set, score end
  end
end

-- lane_emptied(ctx, lane): note that no task waits in this lane any more. Its wake token is deleted, but a token for a
-- due time expires by itself.
local function lane_emptied(ctx, lane) local lanes, wake, delayed, deadlines, shares = KEYS[12], KEYS[13], KEYS[14], KEYS[16], KEYS[33]
  redis.call('SREM', lanes, lane)
  if ctx.settings_fair > 0 or ctx.settings_fair_top > 0 then redis.call('EXPIRE', shares .. lane, ctx.settings_limits > 0 and 2592000 or 86400) end
  if redis.call('EXISTS', delayed, deadlines) == 0 then
    redis.call('DEL', wake .. lane)
  else
    redis.call('PEXPIRE', wake .. lane, 60000)
  end
end

-- leave_line(id, key): remove a task from a limit queue. If the queue is then empty, remove it from limit_lines.
local function leave_line(id, key) local task, waiting, limit_lines = KEYS[4], KEYS[29], KEYS[30]
  redis.call('HDEL', task .. id, 'limited_by')
  redis.call('ZREM', waiting .. key, id)
  if redis.call('EXISTS', waiting .. key) == 0 then redis.call('ZREM', limit_lines, key) end
end

-- push_control(ctx, name): leave a wake-up for a worker. It expires if no worker waits for it.
local function push_control(ctx, name) local control = KEYS[19]
  ctx.called = ctx.called or {}
  if ctx.called[name] then return end
  ctx.called[name] = true
  if redis.call('EXISTS', control .. name) == 0 then redis.call('LPUSH', control .. name, '1') end
  redis.call('PEXPIRE', control .. name, 60000)
end

-- read_record(id): the record of a task as a table by name, and how many bytes its values have; nil if there is none.
local function read_record(id) local task = KEYS[4]
  local flat, record, bytes = redis.call('HGETALL', task .. id), {}, 0  -- at most 70: fields of a record
  if #flat == 0 then return nil, 0 end
  for f = 1, #flat, 2 do
    record[flat[f]] = flat[f + 1]
    bytes = bytes + #flat[f + 1]
  end
  return record, bytes
end

-- state_of(ctx, set, score, record): the state of a task by the set it is in; nil if it is in none.
local function state_of(ctx, set, score, record) local leases, delayed, blocked, finished, dead = KEYS[3], KEYS[14], KEYS[15], KEYS[17], KEYS[18]
  if not set then return nil end
  if set == leases then return tonumber(score) > ctx.now and 'running' or 'stalled' end
  if set == finished then return record.cancelled_ms and 'cancelled' or 'completed' end
  return set == delayed and 'delayed' or set == blocked and 'blocked' or set == dead and 'dead' or 'ready'
end

-- cancel_one(ctx, id, dead_too): cancel a task: at once if it waits, by its worker if it runs. With dead_too, a dead
-- task leaves the dead set. Returns the answer.
-- LATE
local function cancel_one(ctx, id, dead_too) local running, leases = KEYS[2], KEYS[3]
  local record = read_record(id)
  local set, score = find_set(id, record)
  local state = state_of(ctx, set, score, record)
  if not state then return 'not_found' end
  if state == 'cancelled' then return 'cancelled' end
  local dead_before = state == 'dead'
  if state == 'completed' or (dead_before and not dead_too) then return 'finished' end
  if set == leases then
    local held = redis.call('HGET', running, id)
    if held and not string.find(held, ' cancel|', 1, true) then
      redis.call('HSET', running, id, (string.gsub(held, '|', ' cancel|', 1)))
      push_control(ctx, string.match(held, '^.* (%S+)$'))
    end
    return 'cancelling'
  end
  redis.call('ZREM', set, id)
  if record.limited_by then leave_line(id, record.limited_by) end
  if state == 'ready' and redis.call('EXISTS', set) == 0 then lane_emptied(ctx, record.lane or 'any') end
  if dead_before and record.reply then answer_waiters(ctx, id, 'cancelled', '') end
  cancel_task(ctx, id, not dead_before and record.ties, dead_before and 'from=dead')
  return 'cancelled'
end

-- keep_note(ctx, note, parent_only): keep a note for the end of this call. parent_only: no task waits for its task but
-- the parent.
local function keep_note(ctx, note, parent_only)
  ctx.notes = ctx.notes or {}
  if ctx.notes[note] == nil then ctx.notes[#ctx.notes + 1], ctx.notes[note] = note, parent_only or false end
end

-- note_end(ctx, how, id, parent, stamp, parent_only): note what propagate_ends has to do for a task. `c`, `f`: report
-- that it completed or failed to its gathering parent, '<id> <its place>', and to the tasks that wait for it by now.
-- Later tasks wait for another task with that id. `o`: report it to the next task of its ordering key, in place of a
-- parent. `t`: cancel its children, under a stamp. The caller ends with on_close or store_notes.
local function note_end(ctx, how, id, parent, stamp, parent_only) local config = KEYS[1]
  ctx.last_place = ctx.last_place or redis.call('HGET', config, 'place') or 0
  keep_note(ctx, how .. ' ' .. id .. ' ' .. (parent or '- 0') .. ' ' .. (stamp or ctx.last_place), parent_only)
end

-- rank_after(set, score, id): the number of members up to (score, id), even if this member was removed. Members with
-- equal scores are sorted by their bytes.
local function rank_after(set, score, id)
  if redis.call('ZSCORE', set, id) == score then return redis.call('ZRANK', set, id) + 1 end
  local low, high = redis.call('ZCOUNT', set, '-inf', '(' .. score), redis.call('ZCOUNT', set, '-inf', score)
  while low < high do  -- at most 53: halvings
    local middle = math.floor((low + high) / 2)
    local member, at = redis.call('ZRANGE', set, middle, middle)[1], 1
    -- at most 200: bytes of an id
    while string.byte(member, at) and string.byte(member, at) == string.byte(id, at) do at = at + 1 end
    if (string.byte(member, at) or 0) < (string.byte(id, at) or 0) then low = middle + 1 else high = middle end
  end
  return low
end

-- cancel_children(ctx, id, last_id, last_score, stamp, limit): cancel the children of a task behind the last one, at
-- most limit, and note that their own children follow. The stamp ends cycles of parents: each task is cancelled once
-- for a stamp. A later cancel has a higher stamp and does the work of earlier ones. A link (shorten_family) of a
-- removed child counts as a child. Returns how many, and the last of them with its score.
local function cancel_children(ctx, id, last_id, last_score, stamp, limit) local task, children = KEYS[4], KEYS[23]
  local start = last_score == '0' and 0 or rank_after(children .. id, last_score, last_id)
  local page = redis.call('ZRANGE', children .. id, start, start + limit - 1, 'WITHSCORES')
  for i = 1, #page, 2 do
    local child = page[i]
    local row = redis.call('HMGET', task .. child, 'created_ms', 'parent', 'link', 'pruned')
    local parent = row[3]
    if row[1] then parent = row[2] end
    if parent ~= id then
      redis.call('ZREM', children .. id, child)  -- an older version enqueued a new task with the id of a link
    else
      if row[1] then cancel_one(ctx, child) end
      local has_own = redis.call('EXISTS', children .. child) == 1
      if has_own and tonumber(row[4] or 0) < tonumber(stamp) then
        redis.call('HSET', task .. child, 'pruned', stamp)
        note_end(ctx, 't', child, nil, stamp)
      elseif not has_own and not row[1] then  -- an older build removed the last child of a link
        redis.call('ZREM', children .. id, child)
        redis.call('PEXPIRE', task .. child, 60000)
      end
    end
  end
  return #page / 2, #page > 0 and page[#page - 1] .. ' ' .. page[#page]
end

-- line_up_freed(ctx, batch): put the tasks that no longer wait for others into their lanes.
local function line_up_freed(ctx, batch)
  if not batch.freed[1] then return end
  make_ready(ctx, batch.by_lane)
  for first = 1, #batch.freed, 1000 do
    emit(ctx, 'task.unblocked', table.concat(batch.freed, ' ', first, math.min(first + 999, #batch.freed)), '')
  end
  batch.by_lane, batch.freed = {}, {}
end

-- store_notes(ctx): store the notes of this call that were not carried out. A later call goes on.
local function store_notes(ctx) local ends = KEYS[26]
  local rows = {}
  for i, note in ipairs(ctx.notes or {}) do rows[2 * i - 1], rows[2 * i] = ctx.now_text, note end
  for first = 1, #rows, 7000 do redis.call('ZADD', ends, unpack(rows, first, math.min(first + 6999, #rows))) end
  ctx.notes = nil
end

-- read_notes(ctx, limit): the oldest notes that are stored, with their times, at most limit, and whether there are any. If
-- so, those of this call are stored, too, to get their turn. As a rule there are none: the notes of a call are carried
-- out without being stored.
local function read_notes(ctx, limit) local ends = KEYS[26]
  local stored = redis.call('ZRANGE', ends, 0, limit - 1, 'WITHSCORES')
  if stored[1] and ctx.notes then
    store_notes(ctx)
    stored = redis.call('ZRANGE', ends, 0, limit - 1, 'WITHSCORES')
  end
  return stored, stored[1] ~= nil
end

-- chains_on_end(ctx, id, own, how): note the end for the parent that gathers the task, and for the tasks that wait for it.
-- READS awaited gathered parent
-- WHEN own.awaited or own.gathered
local function chains_on_end(ctx, id, own, how) local task = KEYS[4]
  redis.call('HDEL', task .. id, 'awaited', 'gathered')
  local well = how == 'completed' or how == 'result_dropped'
  note_end(ctx, well and 'c' or 'f', id, own.gathered and own.parent .. ' ' .. own.gathered, nil, not own.awaited)
end

-- holds_on_end(ctx, id, own): end what a task holds while it waits or runs: its deadline, its unique key and its scope.
-- READS unique scope expires_at_ms fallback_after_ms
-- WHEN own.unique or own.scope or own.expires_at_ms or own.fallback_after_ms
local function holds_on_end(ctx, id, own) local deadlines, once = KEYS[16], KEYS[20]
  if own.expires_at_ms or own.fallback_after_ms then redis.call('ZREM', deadlines, id) end
  if not (own.unique or own.scope) then return end
  local unique, scope = 'unique:' .. (own.unique or ''), 'scope:' .. (own.scope or '')
  local held = redis.call('HMGET', once, unique, scope)
  if held[1] == id then redis.call('HDEL', once, unique, held[2] == id and scope or unique) return end
  if held[2] == id then redis.call('HDEL', once, scope) end
end

-- order_on_end(ctx, id, own): remove the task from the queue of its ordering key. If it was the first, write a note,
-- and propagate_ends unblocks the next task.
-- READS ordering_key
-- WHEN own.ordering_key
local function order_on_end(ctx, id, own) local order = KEYS[25]
  local line = order .. own.ordering_key
  local first = redis.call('ZRANGE', line, 0, 1, 'WITHSCORES')
  redis.call('ZREM', line, id)
  if first[1] == id and first[3] then note_end(ctx, 'o', id, first[3] .. ' ' .. first[4]) end
end

-- replies_on_end(ctx, id, how, value): answer the clients that wait for the task's reply.
-- READS reply
-- WHEN own.reply and value
local function replies_on_end(ctx, id, how, value)
  answer_waiters(ctx, id, how, value)
end

-- on_end(ctx, id, how, value): generated from lua/queue/noun.toml: calls the hooks of holds, chains, order, replies.
local function on_end(ctx, id, how, value) local task = KEYS[4]
  local row = redis.call('HMGET', task .. id, 'unique', 'scope', 'expires_at_ms', 'fallback_after_ms', 'awaited', 'gathered', 'parent', 'ordering_key', 'reply', 'result_ms')
  local own = { unique = row[1], scope = row[2], expires_at_ms = row[3], fallback_after_ms = row[4], awaited = row[5], gathered = row[6], parent = row[7], ordering_key = row[8], reply = row[9], result_ms = row[10] }
  if own.unique or own.scope or own.expires_at_ms or own.fallback_after_ms then holds_on_end(ctx, id, own) end
  if own.awaited or own.gathered then chains_on_end(ctx, id, own, how) end
  if own.ordering_key then order_on_end(ctx, id, own) end
  if own.reply and value then replies_on_end(ctx, id, how, value) end
  return own
end

-- move_to_dead(ctx, event, id, reason, tied, error, shown): move a task to the dead set. The caller has removed it from
-- its set, and writes the reason and the error into the record. shown: further words of the event, or nil.
local function move_to_dead(ctx, event, id, reason, tied, error, shown) local dead = KEYS[18]
  if tied then on_end(ctx, id, 'dead ' .. reason, error or '') end
  redis.call('ZADD', dead, ctx.now, id)
  emit(ctx, event, id, 'reason=' .. reason .. (shown or ''))
  add_count(ctx, 'dead', 1)
end

-- share_place(ctx, lane, user, band): the place of a user's next task with fair shares: the place claimed last in this
-- lane and band, or the end of the user's previous task if that is later. A task of a user with weight 100 % lasts
-- 1,000. config.fair_top is kept above all places, for the case that fair shares are switched off.
local function share_place(ctx, lane, user, band) local config, weights, shares = KEYS[1], KEYS[32], KEYS[33]
  local name = lane .. ' ' .. band .. user
  ctx.shares = ctx.shares or {}
  local own = ctx.shares[name]
  if not own then
    local row = redis.call('ZMSCORE', shares .. lane, band .. ' claimed', band .. user)
    local weight_pct = user ~= '' and redis.call('HGET', weights, user) or 100
    local from = math.max(ctx.settings_fair, row[1] and row[1] % BAND or 0)
    own = { place = math.max(from, row[2] and row[2] % BAND or 0), lasts = math.ceil(100000 / weight_pct) }
    ctx.shares[name] = own
  end
  local place = own.place
  own.place = place + own.lasts
  redis.call('ZADD', shares .. lane, string.format('%.0f', band * BAND + own.place), band .. user)
  if own.place > (ctx.fair_top or ctx.settings_fair_top) then
    ctx.fair_top = own.place + 1000000
    redis.call('HSET', config, 'fair_top', string.format('%.0f', ctx.fair_top))
  end
  return place
end

-- end_wait(ctx, id, good, one, batch): let a task that waited for others continue (good), or end it. one: its
-- score, the fields that tell_waiting has read (own) and for how many it still waits, if that has changed (awaits). What
-- becomes ready goes into the batch. The caller takes it out of `blocked`.
local function end_wait(ctx, id, good, one, batch) local task = KEYS[4]
  local own, score, awaits = one.own, one.score, one.awaits and 'awaits'
  if good then
    local due_ms = math.max(ctx.now + (own[4] or 0), tonumber(own[5] or 0))
    redis.call('HSET', task .. id, 'ready_ms', ctx.now_text, awaits or 'ready_ms', one.awaits or ctx.now_text)
    if due_ms > ctx.now then
      delay_until(ctx, due_ms, id, own[3] or 'any')
    else
      local band = math.floor(score / BAND)
      if ctx.settings_fair > 0 then score = band * BAND + share_place(ctx, own[3] or 'any', own[7] or '', band) end
      line_up(batch.by_lane, own[3] or 'any', score, id)
    end
    if own[6] then await_deadline(ctx, id, due_ms) end
    batch.freed[#batch.freed + 1] = id
  elseif own[1] == 'failed' then
    if awaits then redis.call('HSET', task .. id, awaits, one.awaits) end
    cancel_task(ctx, id, own[6])
  else
    redis.call('HSET', task .. id, 'reason', 'after_failed', awaits or 'reason', one.awaits or 'after_failed')
    move_to_dead(ctx, 'task.dead', id, 'after_failed', own[6])
  end
end

-- tell_waiting(ctx, batch): report to waiting tasks that tasks they wait for have ended: batch.tells, { id, place, how }
-- each. A waiting task continues or ends at once if an end decides, and otherwise when the last one has ended (it may wait for
-- all of them, or for any). A task that is not blocked at this place no longer waits, or is another task with that id.
-- What each of them needs is read and written once. What becomes ready goes into the batch.
local function tell_waiting(ctx, batch) local task, blocked = KEYS[4], KEYS[15]
  local tells = batch.tells
  if not tells[1] then return end
  batch.tells = {}
  local waits, ids, over = {}, {}, {}
  for _, tell in ipairs(tells) do
    if not waits[tell[1]] then ids[#ids + 1], waits[tell[1]] = tell[1], {} end
  end
  for i, score in ipairs(redis.call('ZMSCORE', blocked, unpack(ids))) do waits[ids[i]].score = score end  -- at most 2,000: two for each of the limit of propagate_ends
  for _, tell in ipairs(tells) do
    local id, how = tell[1], tell[3]
    local one = waits[id]
    if one.score and one.score % BAND == tonumber(tell[2]) then
      one.own = one.own or redis.call('HMGET', task .. id, 'after_when', 'after_any', 'lane', 'delay_ms', 'run_after_ms', 'ties',
        'user', 'limited_by', 'awaits')
      local own = one.own
      if not own[8] then  -- else it waits only for a limit
        local good = own[1] == 'ended' or (how == 'c') == (own[1] ~= 'failed')
        local decisive = good == (own[2] == '1')
        if not decisive then one.awaits = (one.awaits or tonumber(own[9]) or 0) - 1 end
        if decisive or one.awaits <= 0 then
          end_wait(ctx, id, good, one, batch)
          over[#over + 1], one.score = id, nil
        end
      end
    end
  end
  for _, id in ipairs(ids) do
    local one = waits[id]
    if one.score and one.awaits then redis.call('HSET', task .. id, 'awaits', one.awaits) end
  end
  if over[1] then redis.call('ZREM', blocked, unpack(over)) end  -- at most 2,000: as above
end

-- propagate_ends(ctx, limit): carry out what ended tasks mean for others, oldest first, for at most limit of them. `c`,
-- `f`: report to the waiting tasks and to the gathering parent. `o`: report to the next task of the ordering key. `t`:
-- cancel the children. The rest stays noted. Returns how many were reported.
local function propagate_ends(ctx, limit) local dependents, ends = KEYS[24], KEYS[26]
  local batch, told, may_be_stored = { by_lane = {}, freed = {}, tells = {} }, 0, true
  local function follow(note, parent_only)
    local how, id, other, at, upto = string.match(note, '^(%l) (%S+) (%S+) (%d+) (%d+)$')
    local count, rest, tells = 0, '- 0', batch.tells
    if how == 't' then
      tell_waiting(ctx, batch)
      line_up_freed(ctx, batch)  -- cancel_children must see the tasks that became ready
      count, rest = cancel_children(ctx, id, other, at, upto, limit - told)
    elseif how then  -- else the note is damaged
      if at ~= '0' then tells[#tells + 1] = { other, at, how } end
      local waiting = (how == 'o' or parent_only) and {}
        or redis.call('ZRANGE', dependents .. id, '-inf', upto, 'BYSCORE', 'LIMIT', 0, limit - told, 'WITHSCORES')
      count = #waiting / 2
      if count > 0 then redis.call('ZREMRANGEBYRANK', dependents .. id, 0, count - 1) end
      for i = 1, #waiting, 2 do tells[#tells + 1] = { waiting[i], waiting[i + 1], how } end
    end
    local left = count == limit - told and how .. ' ' .. id .. ' ' .. rest .. ' ' .. upto or nil
    told = told + math.max(count, 1)
    return left
  end
  while told < limit do  -- at most 1,000: limit
    local stored, notes, parent_only, left = {}, {}, {}, nil
    if may_be_stored then stored, may_be_stored = read_notes(ctx, limit - told) end
    for i = 1, #stored, 2 do notes[#notes + 1] = stored[i] end
    if not stored[1] and ctx.notes then
      notes, parent_only, ctx.notes = ctx.notes, ctx.notes, nil
      table.sort(notes)
    end
    local last = 0
    while notes[last + 1] and told < limit do  -- at most 1,000: limit
      last = last + 1
      left = follow(notes[last], parent_only[notes[last]])
    end
    if last == 0 then break end
    if stored[1] then
      redis.call('ZREM', ends, unpack(notes, 1, last))  -- at most 1,000: limit
      if left then redis.call('ZADD', ends, stored[2 * last], left) end
    else
      for i = last + 1, #notes do keep_note(ctx, notes[i], parent_only[notes[i]]) end
      if left then keep_note(ctx, left) end
    end
    tell_waiting(ctx, batch)
  end
  line_up_freed(ctx, batch)
  return told
end

-- chains_on_close(ctx): report the ends of this call to the tasks that wait for them: at most 100, less those that its
-- sweep has reported. If more are left, the time of the next claim is now.
-- WHEN ctx.notes
local function chains_on_close(ctx) local ends = KEYS[26]
  local left = 100 - ctx.told
  local all = left > 0 and propagate_ends(ctx, left) < left
  store_notes(ctx)
  if ctx.next_ms and not all and redis.call('EXISTS', ends) == 1 then ctx.next_ms = ctx.now end
end

-- drain_limit_queue(ctx, key, line, batch): let the first tasks in the queue of a limit return to their lanes: as many
-- as may start now, at most 100. line: what peek_lines read. The results go into the batch: tasks that become ready,
-- tasks that are no longer blocked, the queue's next score, and queues that end. The score of a queue in limit_lines: a
-- time at which to look again; negative: at once, and score + BAND is since when; from BAND on: wait for the end of a
-- lease, because the limit was full at score - BAND.
local function drain_limit_queue(ctx, key, line, batch) local task, waiting = KEYS[4], KEYS[29]
  local first, most = line.first, math.min(line.room, 100, ctx.steps)
  local passed, left = 0, line.room - most
  while most > 0 and first[passed + 1] do  -- at most 110: as many as may start, and 10
    local id, score = first[passed + 1], first[passed + 2]
    passed = passed + 2
    -- else an older version of these scripts has left it here
    local own = line.scores[id] == score and redis.call('HMGET', task .. id, 'limited_by', 'lane', 'ties') or {}
    if own[1] == key then
      most = most - 1
      redis.call('HDEL', task .. id, 'limited_by')
      redis.call('HSET', task .. id, 'ready_ms', ctx.now_text)
      line_up(batch.by_lane, own[2] or 'any', score, id)
      if own[3] then await_deadline(ctx, id, ctx.now, batch.due) end
      batch.freed[#batch.freed + 1] = id
    end
  end
  ctx.steps = ctx.steps - 1 - passed / 2
  local emptied = line.room > 0 and line.whole and passed == #first
  if emptied and passed > 0 then
    batch.emptied[#batch.emptied + 1] = waiting .. key
  elseif passed > 0 then
    redis.call('ZREMRANGEBYRANK', waiting .. key, 0, passed / 2 - 1)
  end
  if emptied or (passed == #first and redis.call('EXISTS', waiting .. key) == 0) then
    batch.ended[#batch.ended + 1] = key
  else
    local look_ms = line.recheck_at_ms
    if line.paced then look_ms = ctx.now + 25 * passed  -- 100 in 5 s, however few a call may let go
    elseif left + most > 0 then look_ms = ctx.now + 1 - BAND end  -- +1: behind queues that this call did not reach
    batch.looks[#batch.looks + 1] = look_ms
    batch.looks[#batch.looks + 1] = key
  end
end

-- read_limits(ctx, keys): the limits for these keys: each has its own, or that of its kind (`user:*`). A rule is stored
-- as '<concurrency> <policy> <interval_ms> <burst>', with 0 for not limited. Each limit is one table per call (cached
-- in ctx.limit). room_left adds `held` and `next_ms` to it.
local function read_limits(ctx, keys) local limits = KEYS[27]
  local names, found = {}, {}
  for i, key in ipairs(keys) do names[2 * i - 1], names[2 * i] = key, string.sub(key, 1, string.find(key, ':', 1, true) or -1) .. '*' end
  local rules = redis.call('HMGET', limits, unpack(names))  -- at most 2,000: two for each key of a task, or of a page of lines
  for i, key in ipairs(keys) do
    local rule, limit = rules[2 * i - 1] or rules[2 * i], ctx.limit[key]
    if rule and not limit then
      local most, policy, interval_ms, burst = string.match(rule, '^(%d+) (%S+) (%S+) (%d+)$')
      limit = {
        key = key, policy = policy, most = most ~= '0' and tonumber(most),
        interval_ms = interval_ms ~= '0' and tonumber(interval_ms), slack_ms = (burst - 1) * interval_ms,
      }
      ctx.limit[key] = limit
    end
    found[#found + 1] = limit
  end
  return found
end

-- read_line(line, key, more): read the first tasks of a limit queue: as many as may start, and some more.
local function read_line(line, key, more) local waiting = KEYS[29]
  if line.most > 0 then line.first = redis.call('ZRANGE', waiting .. key, 0, line.most + more - 1, 'WITHSCORES') end
  line.whole = #line.first < 2 * (line.most + more)
end

-- read_places(lines, scores): read which scores the first tasks of these limit queues have in `blocked`. False if there
-- are tasks that do not wait there.
local function read_places(lines, scores) local blocked = KEYS[15]
  local ids, stand, right = {}, {}, true
  for _, line in pairs(lines) do
    for i = 1, #line.first, 2 do ids[#ids + 1], stand[#stand + 1] = line.first[i], line.first[i + 1] end
  end
  for first = 1, #ids, 7000 do
    local found = redis.call('ZMSCORE', blocked, unpack(ids, first, math.min(first + 6999, #ids)))
    for i, score in ipairs(found) do
      scores[ids[first + i - 1]] = score
      right = right and score == stand[first + i - 1]
    end
  end
  return right
end

-- read_rates(limited): read the rates of these limits in one command. room_left would read one at a time.
local function read_rates(limited) local rates = KEYS[31]
  local names, unread = {}, {}
  for _, limit in ipairs(limited) do
    if limit.interval_ms and not limit.next_ms and not limit.rate_ms then names[#names + 1], unread[#unread + 1] = limit.key, limit end
  end
  local due = names[2] and redis.call('ZMSCORE', rates, unpack(names)) or {}  -- at most 100: limits of a task, or of a page of lines
  for i, limit in ipairs(unread) do limit.rate_ms = due[i] or names[2] and 0 end
end

-- full_score(ctx): the score in limit_lines of a queue whose limit is full now: it is looked at when a lease ends, or
-- after a change of `user:*`, `tag:*` or `key:*`.
local function full_score(ctx)
  return BAND + math.max(ctx.now, ctx.settings_limits + 1)
end

-- gcra(due, now, slack): one step of the generic cell rate algorithm. due: when all so far would have come at exactly the rate. slack: how
-- far ahead of that the next may come. Returns due, or now if that is later; and how long to wait, which is not above 0 if the next may
-- come now.
local function gcra(due, now, slack)
  if due < now then due = now end
  return due, due - now - slack
end

-- room_left(ctx, limit): how many more tasks a limit lets start now, and the score of its queue in limit_lines: when to
-- look again, at most 5 s ahead. Rates that are used up are looked at together, so that idle workers do not poll each
-- queue. If the concurrency is used up, the score is full_score: the end of a lease opens the queue. limit.idle: for 5
-- s the rate would have allowed a start, but no task started.
local function room_left(ctx, limit) local holding, rates = KEYS[28], KEYS[31]
  local room, recheck_at_ms = MAX_SAFE, ctx.now + 5000
  if limit.most then
    limit.held = limit.held or redis.call('ZCARD', holding .. limit.key)
    if limit.held >= limit.most then return 0, full_score(ctx) end
    room = limit.most - limit.held
  end
  if limit.interval_ms then
    local next_ms = limit.next_ms or tonumber(limit.rate_ms or redis.call('ZSCORE', rates, limit.key) or 0)
    if next_ms > ctx.now + limit.slack_ms + limit.interval_ms + 1 then next_ms = 0 end  -- it is of another rule for this key
    limit.idle = next_ms - limit.slack_ms <= ctx.now - 5000
    local ahead_ms
    limit.next_ms, ahead_ms = gcra(next_ms, ctx.now, limit.slack_ms)
    ahead_ms = ahead_ms - 0.5  -- sums of fractions are not exact
    local starts = math.max(0, math.floor(-ahead_ms / limit.interval_ms) + 1)
    local next_look_ms = math.ceil(ctx.now + ahead_ms + starts * limit.interval_ms)
    if starts == 0 and next_look_ms > recheck_at_ms then recheck_at_ms = ctx.now - ctx.now % 5000 + 5000 end
    room, recheck_at_ms = math.min(room, starts), math.min(recheck_at_ms, next_look_ms)
  end
  return room, recheck_at_ms
end

-- peek_lines(ctx, keys, from, again): read what drain_limit_queue needs of the queues of these limits, from index
-- `from` on, at most 100 and as many as ctx.steps allows: how many may start now (room), when to look again, the first
-- tasks, whether these are all, and the scores of those that are still blocked. again: some were released 5 s ago. If
-- there is still room, the workers of their lane may be gone, so more are released (paced). By key. It reads one task
-- more than may start; where an older version has left others among them, ten more.
local function peek_lines(ctx, keys, from, again)
  local page = { unpack(keys, from, math.min(from + 99, #keys)) }  -- at most 100: a page
  read_rates(read_limits(ctx, page))
  local lines, scores, steps = {}, {}, ctx.steps
  for _, key in ipairs(page) do
    if steps <= 0 then break end
    local limit, room, recheck_at_ms, paced = ctx.limit[key], MAX_SAFE, ctx.now, false
    if limit then
      room, recheck_at_ms = room_left(ctx, limit)
      if again and room > 0 and limit.policy == 'queue' and (limit.idle or not limit.interval_ms) then room, paced = 100, true end
    end
    local line = { room = room, recheck_at_ms = recheck_at_ms, paced = paced, most = math.min(room, 100, steps), first = {}, scores = scores }
    lines[key] = line
    read_line(line, key, 1)
    steps = steps - 1 - math.min(line.most, #line.first / 2)
  end
  if not read_places(lines, scores) then
    for key, line in pairs(lines) do read_line(line, key, 10) end
    read_places(lines, scores)
  end
  return lines
end

-- drain_limit_queues(ctx, keys, again): see to the lines of these limits, as drain_limit_queue does. What is more than one call may do is left to
-- the next claims.
local function drain_limit_queues(ctx, keys, again) local blocked, deadlines, limit_lines = KEYS[15], KEYS[16], KEYS[30]
  local batch, later, lines = { by_lane = {}, freed = {}, due = {}, looks = {}, emptied = {}, ended = {} }, {}, nil
  for i, key in ipairs(keys) do
    if ctx.steps > 0 then
      if i % 100 == 1 then lines = peek_lines(ctx, keys, i, again) end
      drain_limit_queue(ctx, key, lines[key], batch)
    elseif not again then  -- with `again`, the key is still due and will be looked at by the next call
      later[#later + 1] = ctx.now - BAND
      later[#later + 1] = key
    end
  end
  local freed, due, looks, emptied, ended = batch.freed, batch.due, batch.looks, batch.emptied, batch.ended
  for first = 1, #emptied, 7000 do redis.call('DEL', unpack(emptied, first, math.min(first + 6999, #emptied))) end
  for first = 1, #freed, 7000 do redis.call('ZREM', blocked, unpack(freed, first, math.min(first + 6999, #freed))) end
  for first = 1, #due, 7000 do redis.call('ZADD', deadlines, unpack(due, first, math.min(first + 6999, #due))) end
  for first = 1, #ended, 7000 do redis.call('ZREM', limit_lines, unpack(ended, first, math.min(first + 6999, #ended))) end
  for first = 1, #looks, 7000 do
    redis.call('ZADD', limit_lines, unpack(looks, first, math.min(first + 6999, #looks)))
  end
  for first = 1, #later, 7000 do
    redis.call('ZADD', limit_lines, 'XX', 'LT', unpack(later, first, math.min(first + 6999, #later)))
  end
  make_ready(ctx, batch.by_lane)
  for first = 1, #freed, 1000 do
    emit(ctx, 'task.unblocked', table.concat(freed, ' ', first, math.min(first + 999, #freed)), '')
  end
end

-- have_children(ids): whether some of these tasks have children.
local function have_children(ids) local children = KEYS[23]
  local keys = {}
  for i, id in ipairs(ids) do keys[i] = children .. id end
  return count_existing(keys) > 0
end

-- held_limits(lease): the keys of the limits that a lease holds. lease: an entry of `running`, or nil. It uses plain
-- searches: an entry may have 5 KB, and patterns take ten times as long for it.
local function held_limits(lease)
  local keys, from = {}, lease and string.find(lease, ' limits=', 1, true)
  if not from then return keys end
  from = from + 8
  local stop = string.find(lease, '|', from, true) or #lease + 1
  stop = math.min(stop, string.find(lease, ' ', from, true) or stop)
  while from < stop do  -- at most 26: limits of a task
    local comma = math.min(stop, string.find(lease, ',', from, true) or stop)
    keys[#keys + 1] = string.sub(lease, from, comma - 1)
    from = comma + 1
  end
  return keys
end

-- limits_on_unlease(ctx, ids): the tasks no longer count for their limits, so the next tasks in those queues may start.
-- WHEN ctx.settings_limits > 0
local function limits_on_unlease(ctx, ids) local running, holding, limit_lines = KEYS[2], KEYS[28], KEYS[30]
  local freed, keys, lined = {}, {}, {}
  for i, lease in ipairs(redis.call('HMGET', running, unpack(ids))) do  -- at most 1,000: as end_leases
    for _, key in ipairs(held_limits(lease)) do
      local members = freed[key]
      if members then
        members[#members + 1] = ids[i]
      else
        keys[#keys + 1], freed[key] = key, { ids[i] }
      end
    end
  end
  ctx.steps = ctx.steps + 2 * #ids
  ctx.work = ctx.work - 3 * #keys
  for first = 1, #keys, 1000 do
    local looks = redis.call('ZMSCORE', limit_lines, unpack(keys, first, math.min(first + 999, #keys)))  -- at most 1,000: a page
    for i = first, math.min(first + 999, #keys) do
      local key = keys[i]
      redis.call('ZREM', holding .. key, unpack(freed[key]))  -- at most 1,000: ids
      if ctx.limit[key] then ctx.limit[key].held = nil end
      if looks[i - first + 1] then lined[#lined + 1] = key end
    end
  end
  if #lined > 0 then drain_limit_queues(ctx, lined) end
end

-- shorten_family(ctx, id): remove links that are no longer needed. If a task is removed before its children, its stub
-- stays among its parent's children as a link, by which a cancelled tree finds them. A link without children is
-- removed. If a link's only child is a link, the child takes its place, behind all others, with the stamp of the last
-- cancelled tree. So there are fewer links than tasks.
-- LATE
local function shorten_family(ctx, id) local task, children, ends = KEYS[4], KEYS[23], KEYS[26]
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

-- wait_fields(wait, delivery): the fields of its record that say for what a suspended task waits: `<delivery> <name>`. This
-- holds as long as no later run has ended, which would have changed `deliveries`.
local function wait_fields(wait, delivery)
  local fields = { 'waits_for', delivery .. ' ' .. wait.name }
  if wait.reason == 'diverged' then fields[3], fields[4] = 'reason', wait.reason end
  return fields
end

  arg_made = { on_end = on_end, chains_on_close = chains_on_close, have_children = have_children, limits_on_unlease = limits_on_unlease, shorten_family = shorten_family, stub_of = stub_of, wait_fields = wait_fields }
  return arg_made
end

local ctx, refused = open()
if refused then return refused end

local answers = return_leases(ctx, item_id, item_token, item_delay_ms)
close(ctx)
return { 'ok', ctx.now, answers }
