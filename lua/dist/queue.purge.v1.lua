#!lua flags=allow-oom
-- generated from lua/queue/purge.v1.lua by lua/bundle.py; do not edit
-- queue.purge.v1: delete waiting tasks and their idempotency keys; with `all`, also finished and dead tasks; with a
-- lane, only its ready tasks. Running tasks stay. `more` is 1 if some may be left, because a call sends at most about
-- 2,000 commands. If the same call is sent again, it deletes nothing more and returns the same answer.
--
-- DATA   config      hash           {base}:config
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
-- DATA   once        hash           {base}:once
-- DATA   once_due    zset           {base}:once:due
-- DATA   by_user     prefix/zset    {base}:by:user:    label
-- DATA   by_tag      prefix/zset    {base}:by:tag:     label
-- DATA   children    prefix/zset    {base}:children:   id
-- DATA   order       prefix/zset    {base}:order:      id
-- DATA   ends        zset           {base}:ends
-- DATA   waiting     prefix/zset    {base}:waiting:    limit
-- DATA   limit_lines zset           {base}:limit:lines
-- DATA   shares      prefix/zset    {base}:shares:     lane
-- DATA   channel     prefix/channel {base}:channel:    id
-- DATA   counters    hash           {base}:counters
-- DATA   events      stream         {base}:events
-- ARGV   rid       id            ?=
-- ARGV   what      enum waiting|all ?=waiting
-- ARGV   lane      lane          ?=
-- ARGV   limit     int 1..1000   ?=1000
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int purged:int more:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.removed
-- ROLE   operate
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   24 + 4n commands, 3 for a task in a limit queue, 8 more for unique and idempotency key, 1 for each user, tag and parent, 5 for a task that others wait for, O(n log m); at most 2,700 commands, 20,000 steps

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
local function arg_lane(v)
  if not v or v == 'any' then return v end
  local group, rest = string.match(v, '^group/([%w._@+-]+)(.*)$')
  if not group or #group > 100 then return nil end
  if rest == '' then return v end
  local inst = string.match(rest, '^/inst/([%w._@+-]+)$')
  if inst and #inst <= 100 then return v end
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
  KEYS = { arg_base .. ':config', arg_base .. ':task:', arg_base .. ':payload:', arg_base .. ':result:', arg_base .. ':log:', arg_base .. ':ended_runs:', arg_base .. ':steps:', arg_base .. ':reply:', arg_base .. ':ready:', arg_base .. ':lanes', arg_base .. ':wake:', arg_base .. ':delayed', arg_base .. ':blocked', arg_base .. ':deadlines', arg_base .. ':finished', arg_base .. ':dead', arg_base .. ':once', arg_base .. ':once:due', arg_base .. ':by:user:', arg_base .. ':by:tag:', arg_base .. ':children:', arg_base .. ':order:', arg_base .. ':ends', arg_base .. ':waiting:', arg_base .. ':limit:lines', arg_base .. ':shares:', arg_base .. ':channel:', arg_base .. ':counters', arg_base .. ':events' }
end

local rid = ARGV[1]
if rid ~= '' and (not rid or #rid > 200 or not arg_find(rid, '^[%w._:/@+-]+$')) then
  return refuse('rid', rid, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local what = ARGV[2]
if what == '' then
  what = 'waiting'
elseif what ~= 'waiting' and what ~= 'all' then
  return refuse('what', what, 'one of waiting, all')
end
local lane = ARGV[3]
if lane == '' then
  lane = ''
else
  lane = arg_lane(lane)
  if not lane then return refuse('lane', ARGV[3], 'any, group/<name> or group/<name>/inst/<name>') end
end
local limit = ARGV[4]
if limit == '' then
  limit = 1000
else
  limit = arg_uint(limit, 1, 1000)
  if not limit then return refuse('limit', ARGV[4], 'an integer from 1 to 1000') end
end
local trace = ARGV[5]
if not trace or #trace > 128 then
  return refuse('trace', trace and #trace, '0 to 128 bytes long')
end
local source = ARGV[6]
if not source or #source > 200 then
  return refuse('source', source and #source, '0 to 200 bytes long')
end
local now_ms = ARGV[7]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9007199254740991)
  if not now_ms then return refuse('now_ms', ARGV[7], 'an integer from 0 to 9007199254740991') end
end
if #ARGV ~= 7 then
  return redis.error_reply('ADEQ_ARG expected 7 arguments, got ' .. #ARGV)
end

local arg_rare

-- answer_waiters(ctx, id, how, value): store how a task ended under `reply:<id>` for reply_ms, and publish it. The key
-- lives twice as long; after reply_ms it is ignored.
-- EARLY
local function answer_waiters(ctx, id, how, value) local config, reply, channel = KEYS[1], KEYS[8], KEYS[27]
  ctx.reply_ms = ctx.reply_ms or tonumber(redis.call('HGET', config, 'reply_ms') or 3600000)
  redis.call('SET', reply .. id, string.format('%.0f ', ctx.now + ctx.reply_ms) .. how .. '\n' .. value,
    'PX', string.format('%.0f', math.max(2 * ctx.reply_ms, 60000)))
  redis.pcall('SPUBLISH', channel .. id, how)
end

-- count_existing(keys): how many of these keys exist.
local function count_existing(keys)
  local found = 0
  for first = 1, #keys, 7000 do found = found + redis.call('EXISTS', unpack(keys, first, math.min(first + 6999, #keys))) end
  return found
end

-- done_before(ctx, verb): the answer that an earlier call with this verb and rid stored in the last minute, or nil.
local function done_before(ctx, verb) local once = KEYS[17]
  if rid == '' then return nil end
  local word, until_ms = string.match(redis.call('HGET', once, 'done:' .. verb .. ':' .. rid) or '', '^(%S+) (%d+)$')
  if word and tonumber(until_ms) > ctx.now then return word end
end

-- emit(ctx, event, id, detail): add an entry to the stream, if the noun keeps events. detail: `name=value` words, or
-- ''. The trace is ctx.trace, that of the task, or else that of the call.
local function emit(ctx, event, id, detail) local events = KEYS[29]
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

-- hold_once(ctx, field, id, keep_ms, stamp): make a key of `once` refer to a task, for keep_ms or, without keep_ms,
-- until it is released. stamp: that of the enqueue that made the task, if its record does not know the key; the key no
-- longer counts once that was purged.
local function hold_once(ctx, field, id, keep_ms, stamp) local once, once_due = KEYS[17], KEYS[18]
  if not keep_ms then
    redis.call('HSET', once, field, id)
    return
  end
  local until_text = string.format('%.0f', ctx.now + keep_ms)
  redis.call('HSET', once, field, id .. ' ' .. until_text .. (stamp and ' ' .. stamp or ''))
  redis.call('ZADD', once_due, until_text, field)
  ctx.held = (ctx.held or 0) + 1
end

-- lane_emptied(ctx, lane): note that no task waits in this lane any more. Its wake token is deleted, but a token for a
-- due time expires by itself.
local function lane_emptied(ctx, lane) local lanes, wake, delayed, deadlines, shares = KEYS[10], KEYS[11], KEYS[12], KEYS[14], KEYS[26]
  redis.call('SREM', lanes, lane)
  if ctx.settings_fair > 0 or ctx.settings_fair_top > 0 then redis.call('EXPIRE', shares .. lane, ctx.settings_limits > 0 and 2592000 or 86400) end
  if redis.call('EXISTS', delayed, deadlines) == 0 then
    redis.call('DEL', wake .. lane)
  else
    redis.call('PEXPIRE', wake .. lane, 60000)
  end
end

-- leave_line(id, key): remove a task from a limit queue. If the queue is then empty, remove it from limit_lines.
local function leave_line(id, key) local task, waiting, limit_lines = KEYS[2], KEYS[24], KEYS[25]
  redis.call('HDEL', task .. id, 'limited_by')
  redis.call('ZREM', waiting .. key, id)
  if redis.call('EXISTS', waiting .. key) == 0 then redis.call('ZREM', limit_lines, key) end
end

-- sweep_once(ctx, limit): delete expired fields of `once`, at most limit. Returns the number.
local function sweep_once(ctx, limit) local once, once_due = KEYS[17], KEYS[18]
  local fields = redis.call('ZRANGE', once_due, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, limit)
  if #fields == 0 then return 0 end
  -- at most 4,010: limit, as add_tasks gives it for 1,000 items
  redis.call('ZREM', once_due, unpack(fields))
  redis.call('HDEL', once, unpack(fields))
  return #fields
end

-- note_done(ctx, verb, word): leave a word for this call, in case it is sent again: a late copy must not undo what came
-- after it.
local function note_done(ctx, verb, word)
  if rid == '' then return end
  hold_once(ctx, 'done:' .. verb .. ':' .. rid, word, 60000)
  sweep_once(ctx, 10)
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'events_max', 'fair', 'limits', 'fair_top')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_events_max = tonumber(row[3] or 100000), settings_fair = tonumber(row[4] or 0), settings_limits = tonumber(row[5] or 0), settings_fair_top = tonumber(row[6] or 0), counts = {} }
end

-- remove_tasks(ctx, ids, since, why, most): delete tasks that are in no set any more, with their index entries. A call
-- about a task may be sent again for 60 s after the task's time in `since` (none: now). Until then a stub remembers its
-- rid and last settlement. The stub of a child that has children stays as long as they do, so that a cancelled tree
-- finds them. most: about how many commands it may send, at least 1, or nil. Returns how many tasks, and what is left
-- of `most`. To delete a key costs up to three searches outside the CPU caches, even if there is no such key. So it deletes
-- only keys that may exist: without `progress_ms` there is no log, without `deliveries` there are no ended runs,
-- and without `durable` there are no steps.
local function remove_tasks(ctx, ids, since, why, most) local task, payload, result, log, ended_runs, steps, reply, by_user, by_tag, children = KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[19], KEYS[20], KEYS[21]
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

-- write_counts(ctx): add what this call has counted to the totals, once a call and not once a task. A number is added to its counter,
-- a table of buckets to one counter for each bucket, and the sum of its values to another.
local function write_counts(ctx) local counters = KEYS[28]
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

-- add_count(ctx, name, n): count in this call; write_counts stores it.
local function add_count(ctx, name, n)
  ctx.counts[name] = (ctx.counts[name] or 0) + n
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

-- chains_on_end(ctx, id, own, how): note the end for the parent that gathers the task, and for the tasks that wait for it.
-- READS awaited gathered parent
-- WHEN own.awaited or own.gathered
local function chains_on_end(ctx, id, own, how) local task = KEYS[2]
  redis.call('HDEL', task .. id, 'awaited', 'gathered')
  local well = how == 'completed' or how == 'result_dropped'
  note_end(ctx, well and 'c' or 'f', id, own.gathered and own.parent .. ' ' .. own.gathered, nil, not own.awaited)
end

-- have_children(ids): whether some of these tasks have children.
local function have_children(ids) local children = KEYS[21]
  local keys = {}
  for i, id in ipairs(ids) do keys[i] = children .. id end
  return count_existing(keys) > 0
end

-- holds_on_end(ctx, id, own): end what a task holds while it waits or runs: its deadline, its unique key and its scope.
-- READS unique scope expires_at_ms fallback_after_ms
-- WHEN own.unique or own.scope or own.expires_at_ms or own.fallback_after_ms
local function holds_on_end(ctx, id, own) local deadlines, once = KEYS[14], KEYS[17]
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
local function order_on_end(ctx, id, own) local order = KEYS[22]
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
local function on_end(ctx, id, how, value) local task = KEYS[2]
  local row = redis.call('HMGET', task .. id, 'unique', 'scope', 'expires_at_ms', 'fallback_after_ms', 'awaited', 'gathered', 'parent', 'ordering_key', 'reply', 'result_ms')
  local own = { unique = row[1], scope = row[2], expires_at_ms = row[3], fallback_after_ms = row[4], awaited = row[5], gathered = row[6], parent = row[7], ordering_key = row[8], reply = row[9], result_ms = row[10] }
  if own.unique or own.scope or own.expires_at_ms or own.fallback_after_ms then holds_on_end(ctx, id, own) end
  if own.awaited or own.gathered then chains_on_end(ctx, id, own, how) end
  if own.ordering_key then order_on_end(ctx, id, own) end
  if own.reply and value then replies_on_end(ctx, id, how, value) end
  return own
end

-- shorten_family(ctx, id): remove links that are no longer needed. If a task is removed before its children, its stub
-- stays among its parent's children as a link, by which a cancelled tree finds them. A link without children is
-- removed. If a link's only child is a link, the child takes its place, behind all others, with the stamp of the last
-- cancelled tree. So there are fewer links than tasks.
-- LATE
local function shorten_family(ctx, id) local task, children, ends = KEYS[2], KEYS[21], KEYS[23]
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

-- store_notes(ctx): store the notes of this call that were not carried out. A later call goes on.
local function store_notes(ctx) local ends = KEYS[23]
  local rows = {}
  for i, note in ipairs(ctx.notes or {}) do rows[2 * i - 1], rows[2 * i] = ctx.now_text, note end
  for first = 1, #rows, 7000 do redis.call('ZADD', ends, unpack(rows, first, math.min(first + 6999, #rows))) end
  ctx.notes = nil
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

  arg_made = { add_count = add_count, have_children = have_children, on_end = on_end, shorten_family = shorten_family, store_notes = store_notes, stub_of = stub_of }
  return arg_made
end

local config, task, ready, lanes, delayed, blocked, finished, dead, once, once_due = KEYS[1], KEYS[2], KEYS[9], KEYS[10], KEYS[12], KEYS[13], KEYS[15], KEYS[16], KEYS[17], KEYS[18]

local ctx, refused = open()
if refused then return refused end

local purged, left = string.match(done_before(ctx, 'purge') or '', '^(%d+):(%d)$')
if purged then return { 'ok', ctx.now, tonumber(purged), tonumber(left) } end

local sets = { delayed, blocked }
if what == 'all' then sets = { delayed, blocked, finished, dead } end
if lane ~= '' then sets = {} end
local in_line = lane ~= '' and { lane } or redis.call('SRANDMEMBER', lanes, 100)
for i, one in ipairs(in_line) do table.insert(sets, i, ready .. one) end

local gone, keep_ms, work = {}, nil, 2000  -- about how many commands it may send
for i, set in ipairs(sets) do
  local ids = #gone < limit and work > 0 and redis.call('ZRANGE', set, 0, limit - #gone - 1) or {}
  for at, id in ipairs(ids) do
    if work <= 0 then
      for last = #ids, at, -1 do ids[last] = nil end
      break
    end
    local own = redis.call('HMGET', task .. id, 'ties', 'idempotency_key', 'limited_by', 'keys', 'rid', 'tags', 'unique', 'scope', 'reply')
    local _, tags = string.gsub(own[6] or '', ',', '')
    work = work - 4 - tags - (own[1] and 3 or 0)
    for field = 2, 9 do work = work - (own[field] and field ~= 5 and field ~= 6 and 2 or 0) end
    local key = own[2] and 'key:' .. own[2]
    if own[1] then arg_rare().on_end(ctx, id, 'removed', set ~= finished and set ~= dead and '' or nil) end
    if key and string.find(redis.call('HGET', once, key) or '', id .. ' ', 1, true) == 1 then
      redis.call('HDEL', once, key)
      redis.call('ZREM', once_due, key)
    end
    if own[3] then leave_line(id, own[3]) end
    if own[4] then
      -- As long as the keys count; in `keys` of an older version there is no time.
      keep_ms = keep_ms or math.max(redis.call('HGET', config, 'idempotency_ms') or 0, 86400000)
      hold_once(ctx, 'purged:' .. own[5], id, own[4] == '1' and keep_ms or math.max(own[4] - ctx.now, 1))
    end
    gone[#gone + 1] = id
  end
  if ids[1] then redis.call('ZREM', set, unpack(ids)) end  -- at most 1,000: limit
  if in_line[i] and redis.call('EXISTS', set) == 0 then lane_emptied(ctx, in_line[i]) end
end
if ctx.notes then arg_rare().store_notes(ctx) end
remove_tasks(ctx, gone, {}, 'purged')
if #gone > 0 then emit(ctx, 'task.removed', table.concat(gone, ' '), 'reason=purged') end
if #gone > 0 then arg_rare().add_count(ctx, 'purged', #gone) end
write_counts(ctx)
local more = (#gone == limit or work <= 0 or redis.call('EXISTS', lane ~= '' and ready .. lane or lanes) == 1) and 1 or 0
note_done(ctx, 'purge', #gone .. ':' .. more)
return { 'ok', ctx.now, #gone, more }
