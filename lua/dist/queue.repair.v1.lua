#!lua flags=allow-oom
-- generated from lua/queue/repair.v1.lua by lua/bundle.py; do not edit
-- queue.repair.v1: find tasks that are in no set or in two, as a call that failed half-way leaves them, and put each
-- where its record says: to its old place, aside, or among the ended tasks. It also repairs leases with missing parts
-- and their remains, `lanes`, and members of a limit's queue and holders that do not belong there. The caller finds the
-- names with SCAN, and gives them in the order of their creation, because places are rebuilt from it. Each task is
-- checked again, so sound tasks are never changed. `line`: check 1,000 members of each set of a key, from a rank on.
-- dry_run writes nothing. Repeating the call leaves the same state, but returns other answers.
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
-- DATA   once        hash           {base}:once
-- DATA   by_user     prefix/zset    {base}:by:user:    label
-- DATA   by_tag      prefix/zset    {base}:by:tag:     label
-- DATA   children    prefix/zset    {base}:children:   id
-- DATA   dependents  prefix/zset    {base}:dependents: id
-- DATA   order       prefix/zset    {base}:order:      id
-- DATA   ends        zset           {base}:ends
-- DATA   holding     prefix/zset    {base}:holding:    limit
-- DATA   waiting     prefix/zset    {base}:waiting:    limit
-- DATA   limit_lines zset           {base}:limit:lines
-- DATA   weights     hash           {base}:weights
-- DATA   shares      prefix/zset    {base}:shares:     lane
-- DATA   channel     prefix/channel {base}:channel:    id
-- DATA   counters    hash           {base}:counters
-- DATA   events      stream         {base}:events
-- ARGV   dry_run   bool          ?=0
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   task.id   id
-- ITEM   lane.name lane
-- ITEM   line.key  limit
-- ITEM   line.from int 0..1000000000
-- GROUP  line      0..1
-- RETURN ok        now_ms:int tasks:list(task) lanes:list(lane) lines:list(line)
-- EACH   task      sound
-- EACH   task      damaged kind:text created_ms:int rid:text index:int
-- EACH   task      repaired kind:text state:text
-- EACH   lane      sound
-- EACH   lane      damaged
-- EACH   lane      repaired
-- EACH   line      seen count:int damaged:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.repaired task.removed
-- ROLE   operate
-- REPLAY state
-- FLAGS  allow-oom
-- COST   9 + 2n commands, 10 to 60 more for each repaired task, 20 + n for a limit queue, O(n log m); at most 49,000 commands, 300,000 steps

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
  if not v or #v > 16 or (v ~= '0' and not arg_find(v, '^[1-9]%d*$')) then return nil end
  local n = v + 0
  if n >= min and n <= max then return n end
end
local function arg_label(v)
  local gsub, more = string.gsub, '[\128-\191]'
  if arg_find(v, '\226\128[\128-\138\168\169\175]') or arg_find(v, '\226\129\159') then return nil end
  if arg_find(v, '\225\154\128') or arg_find(v, '\227\128\128') then return nil end
  v = gsub(gsub(v, '\194[\161-\191]', 'a'), '[\195-\223]' .. more, 'a')
  v = gsub(gsub(v, '\224[\160-\191]' .. more, 'a'), '\237[\128-\159]' .. more, 'a')
  v = gsub(v, '[\225-\236\238\239]' .. more .. more, 'a')
  v = gsub(gsub(v, '\240[\144-\191]' .. more .. more, 'a'), '\244[\128-\143]' .. more .. more, 'a')
  v = gsub(v, '[\241-\243]' .. more .. more .. more, 'a')
  return arg_find(v, '^[%w._:/@+-]+$')
end
local function arg_lane(v)
  if not v or v == 'any' then return v end
  local group, rest = string.match(v, '^group/([%w._@+-]+)(.*)$')
  if not group or #group > 100 then return nil end
  if rest == '' then return v end
  local inst = string.match(rest, '^/inst/([%w._@+-]+)$')
  if inst and #inst <= 100 then return v end
end
local function arg_limit(v)
  if v == 'all' then return v end
  local kind, id = string.match(v or '', '^(%l+):(.*)$')
  local known = kind == 'user' or kind == 'tag' or kind == 'key'
  if not known or #id > 200 then return nil end
  if id == '*' or arg_find(id, '^[%w._:/@+-]+$') or (kind ~= 'key' and arg_label(id)) then return v end
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
  KEYS = { arg_base .. ':config', arg_base .. ':running', arg_base .. ':leases', arg_base .. ':task:', arg_base .. ':payload:', arg_base .. ':result:', arg_base .. ':log:', arg_base .. ':ended_runs:', arg_base .. ':steps:', arg_base .. ':reply:', arg_base .. ':ready:', arg_base .. ':lanes', arg_base .. ':wake:', arg_base .. ':delayed', arg_base .. ':blocked', arg_base .. ':deadlines', arg_base .. ':finished', arg_base .. ':dead', arg_base .. ':once', arg_base .. ':by:user:', arg_base .. ':by:tag:', arg_base .. ':children:', arg_base .. ':dependents:', arg_base .. ':order:', arg_base .. ':ends', arg_base .. ':holding:', arg_base .. ':waiting:', arg_base .. ':limit:lines', arg_base .. ':weights', arg_base .. ':shares:', arg_base .. ':channel:', arg_base .. ':counters', arg_base .. ':events' }
end

local dry_run = ARGV[1]
if dry_run ~= '0' and dry_run ~= '1' and dry_run ~= '' then
  return refuse('dry_run', dry_run, '0 or 1')
end
dry_run = dry_run == '1'
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
local task_count = ARGV[arg_at]
task_count = arg_uint(task_count, 0, 1000)
if not task_count then return refuse('task_count', ARGV[arg_at], 'an integer from 0 to 1000') end
arg_at = arg_at + 1
local task_id = arg_empty
if task_count > 0 then task_id = {} end
for i = 1, task_count do
  local v = ARGV[arg_at]
  if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
    return refuse('task[' .. i .. '].id', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
  end
  task_id[i] = v
  arg_at = arg_at + 1
end
local lane_count = ARGV[arg_at]
lane_count = arg_uint(lane_count, 0, 1000)
if not lane_count then return refuse('lane_count', ARGV[arg_at], 'an integer from 0 to 1000') end
arg_at = arg_at + 1
local lane_name = arg_empty
if lane_count > 0 then lane_name = {} end
for i = 1, lane_count do
  local v = ARGV[arg_at]
  v = arg_lane(v)
  if not v then return refuse('lane[' .. i .. '].name', ARGV[arg_at], 'any, group/<name> or group/<name>/inst/<name>') end
  lane_name[i] = v
  arg_at = arg_at + 1
end
local line_count = ARGV[arg_at]
line_count = arg_uint(line_count, 0, 1)
if not line_count then return refuse('line_count', ARGV[arg_at], 'an integer from 0 to 1') end
arg_at = arg_at + 1
local line_key, line_from = arg_empty, arg_empty
if line_count > 0 then line_key, line_from = {}, {} end
for i = 1, line_count do
  local v = ARGV[arg_at]
  v = arg_limit(v)
  if not v then return refuse('line[' .. i .. '].key', ARGV[arg_at], 'all, or user: or tag: and a label (1 to 200 bytes) or *, or key: and an id or *') end
  line_key[i] = v
  v = ARGV[arg_at + 1]
  v = arg_uint(v, 0, 1000000000)
  if not v then return refuse('line[' .. i .. '].from', ARGV[arg_at + 1], 'an integer from 0 to 1000000000') end
  line_from[i] = v
  arg_at = arg_at + 2
end
if task_count + lane_count + line_count > 1000 then
  return refuse('task_count + lane_count + line_count', task_count + lane_count + line_count, 'at most 1000')
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end

local arg_rare

-- emit(ctx, event, id, detail): add an entry to the stream, if the noun keeps events. detail: `name=value` words, or
-- ''. The trace is ctx.trace, that of the task, or else that of the call.
local function emit(ctx, event, id, detail) local events = KEYS[33]
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

-- find_damage(ids): what is wrong with each of these tasks: `lost` (in no set), `twice` (in several), `lease` (an
-- incomplete lease, or one that a limit does not count), `line` (waits for a limit, but not in its queue), `runs` (an
-- older release has deleted the task, but not what is kept of its runs and steps); false if nothing is. An id without a record is
-- sound, unless a lease or its runs are left of it.
-- EARLY
local function find_damage(ids) local running, leases, task, ended_runs, steps, ready, delayed, blocked, finished, dead, holding, waiting = KEYS[2], KEYS[3], KEYS[4], KEYS[8], KEYS[9], KEYS[11], KEYS[14], KEYS[15], KEYS[17], KEYS[18], KEYS[26], KEYS[27]
  local scores, found = {}, {}
  local sets = { delayed, blocked, leases, finished, dead }
  for s, set in ipairs(sets) do scores[s] = redis.call('ZMSCORE', set, unpack(ids)) end  -- at most 1,000: items
  local held = redis.call('HMGET', running, unpack(ids))  -- at most 1,000: items
  for i, id in ipairs(ids) do
    local own = redis.call('HMGET', task .. id, 'created_ms', 'lane', 'limited_by')
    local places = redis.call('ZSCORE', ready .. (own[2] or 'any'), id) and 1 or 0
    for s = 1, #sets do places = places + (scores[s][i] and 1 or 0) end
    local leased, by = scores[3][i], own[3]
    if not own[1] then
      found[i] = held[i] and not leased and 'lease' or redis.call('EXISTS', ended_runs .. id, steps .. id) > 0 and 'runs'
    elseif places > 1 then
      found[i] = 'twice'
    elseif not leased ~= not held[i] then
      found[i] = 'lease'
    elseif places == 0 then
      found[i] = 'lost'
    else
      found[i] = by and scores[2][i] and redis.call('ZSCORE', waiting .. by, id) ~= scores[2][i] and 'line'
    end
    for _, key in ipairs(held_limits(not found[i] and held[i])) do
      if not redis.call('ZSCORE', holding .. key, id) then found[i] = 'lease' end
    end
    found[i] = found[i] or false
  end
  return found
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'lease_ms', 'events_max', 'finished_max', 'fair', 'mode', 'chains', 'limits', 'fair_top')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_lease_ms = tonumber(row[3] or 15000), settings_events_max = tonumber(row[4] or 100000), settings_finished_max = tonumber(row[5] or 100000), settings_fair = tonumber(row[6] or 0), settings_mode = row[7], settings_chains = row[8] == '1', settings_limits = tonumber(row[9] or 0), settings_fair_top = tonumber(row[10] or 0), counts = {}, ended = 0, work = 300 }
end

local arg_made
function arg_rare()
  if arg_made then return arg_made end

-- add_count(ctx, name, n): count in this call; write_counts stores it.
local function add_count(ctx, name, n)
  ctx.counts[name] = (ctx.counts[name] or 0) + n
end

-- answer_waiters(ctx, id, how, value): store how a task ended under `reply:<id>` for reply_ms, and publish it. The key
-- lives twice as long; after reply_ms it is ignored.
-- EARLY
local function answer_waiters(ctx, id, how, value) local config, reply, channel = KEYS[1], KEYS[10], KEYS[31]
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

-- begin_chains(ctx): note that the queue has chains. Until then, no call looks for tasks that wait for others.
local function begin_chains(ctx) local config = KEYS[1]
  if not (ctx.settings_chains or ctx.has_chains) then redis.call('HSET', config, 'chains', '1') end
  ctx.has_chains = true
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

-- make_awaited(ctx, id): mark a task that other tasks wait for: from now on it has ties. If it has ended already, note
-- its end for all waiting tasks that this call adds. One that this call has made waits itself.
local function make_awaited(ctx, id) local running, task, finished, dead = KEYS[2], KEYS[4], KEYS[17], KEYS[18]
  local there = ctx.there[id]
  if there == 'awaited' then return end
  ctx.there[id] = 'awaited'
  if there ~= 'new' then
    local failed = redis.call('ZSCORE', dead, id) or redis.call('HEXISTS', task .. id, 'cancelled_ms') == 1
    if failed or redis.call('ZSCORE', finished, id) then
      return note_end(ctx, failed and 'f' or 'c', id)
    end
  end
  redis.call('HSET', task .. id, 'awaited', '1', 'ties', '1')
  local held = there ~= 'new' and redis.call('HGET', running, id)
  if held and not string.find(held, ' ties[^|]*|') then
    redis.call('HSET', running, id, (string.gsub(held, '^(%S+ %d+ [^ |]+)', '%1 ties')))
  end
end

-- await_others(ctx, id, own, place, by_index): let a new task wait until others have ended: the tasks of `after`, which
-- exist; `gather` children, which may come later; or the earlier tasks of its ordering key. An end from before is noted
-- as if it happened now. Notes its place in `blocked` for the caller's ZADD. Returns for how many ends it waits.
local function await_others(ctx, id, own, place, by_index) local blocked, deadlines, dependents = KEYS[15], KEYS[16], KEYS[23]
  local seen, awaits = {}, own.gather or (own.behind and 1 or 0)
  for _, other in ipairs(own.after or {}) do
    if not seen[other] then
      seen[other], awaits = true, awaits + 1
      redis.call('ZADD', dependents .. other, place, id)
      make_awaited(ctx, other)
    end
  end
  line_up(by_index, blocked, (own.priority or 5) * BAND + place, id)
  if own.expires_at_ms then redis.call('ZADD', deadlines, own.expires_at_ms, id) end
  begin_chains(ctx)
  return awaits
end

-- chains_on_end(ctx, id, own, how): note the end for the parent that gathers the task, and for the tasks that wait for it.
-- READS awaited gathered parent
-- WHEN own.awaited or own.gathered
local function chains_on_end(ctx, id, own, how) local task = KEYS[4]
  redis.call('HDEL', task .. id, 'awaited', 'gathered')
  local well = how == 'completed' or how == 'result_dropped'
  note_end(ctx, well and 'c' or 'f', id, own.gathered and own.parent .. ' ' .. own.gathered, nil, not own.awaited)
end

-- count_existing(keys): how many of these keys exist.
local function count_existing(keys)
  local found = 0
  for first = 1, #keys, 7000 do found = found + redis.call('EXISTS', unpack(keys, first, math.min(first + 6999, #keys))) end
  return found
end

-- delay_until(ctx, due_ms, id, lane): make a task delayed until due_ms. If that is within 10 s, wake a worker of the
-- lane.
local function delay_until(ctx, due_ms, id, lane) local delayed = KEYS[14]
  redis.call('ZADD', delayed, due_ms, id)
  if due_ms - ctx.now < 10000 then push_due(lane) end
end

-- drop_lease(ctx, id, held): end what is left of a lease, an entry of `running` or nil. Mark the queues of its limits,
-- so that the next claims drain them.
local function drop_lease(ctx, id, held) local running, leases, holding, limit_lines = KEYS[2], KEYS[3], KEYS[26], KEYS[28]
  for _, key in ipairs(held_limits(held)) do
    redis.call('ZREM', holding .. key, id)
    redis.call('ZADD', limit_lines, 'XX', 'LT', ctx.now - BAND, key)
  end
  redis.call('HDEL', running, id)
  redis.call('ZREM', leases, id)
end

-- holds_on_end(ctx, id, own): end what a task holds while it waits or runs: its deadline, its unique key and its scope.
-- READS unique scope expires_at_ms fallback_after_ms
-- WHEN own.unique or own.scope or own.expires_at_ms or own.fallback_after_ms
local function holds_on_end(ctx, id, own) local deadlines, once = KEYS[16], KEYS[19]
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
local function order_on_end(ctx, id, own) local order = KEYS[24]
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

-- end_ties(ctx, id, record, how): for a repaired task that has ended: run on_end, and publish its reply if that is
-- missing. Can be called twice.
local function end_ties(ctx, id, record, how) local result, reply = KEYS[6], KEYS[10]
  if not record.ties then return end
  local value
  if record.reply and redis.call('EXISTS', reply .. id) == 0 then
    value = how == 'dead' and record.error or ''
    if how == 'completed' and redis.call('STRLEN', result .. id) > 4096 then
      how = 'result_dropped'
    elseif how == 'completed' then
      value = redis.call('GET', result .. id) or ''
    end
  end
  if how == 'dead' then how = 'dead ' .. (record.reason or 'damaged') end
  on_end(ctx, id, how, value)
end

-- ended_how(record): how a task ended, if its record proves it: completed, result_dropped, cancelled or dead; else nil.
-- If no worker reported the failure, the reason proves it, unless it could be the custom reason of an earlier failed
-- run.
local function ended_how(record)
  if record.cancelled_ms then return 'cancelled' end
  local how = string.match(record.settled or '', '^%S+ (%S+)')
  if how == 'completed' or how == 'result_dropped' or how == 'cancelled' then return how end
  local ours = { expired = true, nobody_came = true, after_failed = true, limited = true }
  local reason = record.reason
  local died = how == 'dead' or reason == 'crash_loop' or reason == 'damaged' or not record.attempts and ours[reason]
  return reason and died and 'dead' or nil
end

-- gather_left(id, record, others): for how many more children a gathering task waits, without `others`, for which it
-- waits in addition. The second value is the task's place, if a child knows it. Looks at 1,000 children.
local function gather_left(id, record, others) local task, finished, dead, children = KEYS[4], KEYS[17], KEYS[18], KEYS[22]
  local kids, ended, place = redis.call('ZRANGE', children .. id, 0, 999), 0, nil
  local done = #kids > 0 and redis.call('ZMSCORE', finished, unpack(kids)) or {}  -- at most 1,000: the page
  local died = #kids > 0 and redis.call('ZMSCORE', dead, unpack(kids)) or {}  -- at most 1,000: the page
  for i, kid in ipairs(kids) do
    if done[i] or died[i] then ended = ended + 1 end
    place = place or tonumber(not done[i] and not died[i] and redis.call('HGET', task .. kid, 'gathered') or nil)
  end
  return math.max(0, math.min(tonumber(record.awaits or 0) - others, record.gather - ended)), place
end

-- have_children(ids): whether some of these tasks have children.
local function have_children(ids) local children = KEYS[22]
  local keys = {}
  for i, id in ipairs(ids) do keys[i] = children .. id end
  return count_existing(keys) > 0
end

-- lane_emptied(ctx, lane): note that no task waits in this lane any more. Its wake token is deleted, but a token for a
-- due time expires by itself.
local function lane_emptied(ctx, lane) local lanes, wake, delayed, deadlines, shares = KEYS[12], KEYS[13], KEYS[14], KEYS[16], KEYS[30]
  redis.call('SREM', lanes, lane)
  if ctx.settings_fair > 0 or ctx.settings_fair_top > 0 then redis.call('EXPIRE', shares .. lane, ctx.settings_limits > 0 and 2592000 or 86400) end
  if redis.call('EXISTS', delayed, deadlines) == 0 then
    redis.call('DEL', wake .. lane)
  else
    redis.call('PEXPIRE', wake .. lane, 60000)
  end
end

-- leave_line(id, key): remove a task from a limit queue. If the queue is then empty, remove it from limit_lines.
local function leave_line(id, key) local task, waiting, limit_lines = KEYS[4], KEYS[27], KEYS[28]
  redis.call('HDEL', task .. id, 'limited_by')
  redis.call('ZREM', waiting .. key, id)
  if redis.call('EXISTS', waiting .. key) == 0 then redis.call('ZREM', limit_lines, key) end
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
local function make_ready(ctx, by_lane) local ready, lanes, shares = KEYS[11], KEYS[12], KEYS[30]
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

-- place_by_age(lane, band, id, record): a place for a task whose own is unknown: behind the tasks of its lane and band
-- that were enqueued before it. Tasks of one millisecond are ordered by call, index and id.
local function place_by_age(lane, band, id, record) local task, ready = KEYS[4], KEYS[11]
  local set = ready .. lane
  local function is_older(other)
    local row = redis.call('HMGET', task .. other, 'created_ms', 'rid')
    local call, at = string.match(record.rid or '', '^(.-)/?(%d*)$')
    local other_call, other_at = string.match(row[2] or '', '^(.-)/?(%d*)$')
    if row[1] ~= record.created_ms then return tonumber(row[1] or 0) < tonumber(record.created_ms) end
    if call ~= other_call then return other_call < call end
    if at ~= other_at then return tonumber('0' .. other_at) < tonumber('0' .. at) end
    return other < id
  end
  local first = redis.call('ZCOUNT', set, '-inf', string.format('(%.0f', band * BAND))
  local low, high = first, redis.call('ZCOUNT', set, '-inf', string.format('(%.0f', (band + 1) * BAND))
  while low < high do  -- at most 53: halvings
    local middle = math.floor((low + high) / 2)
    if is_older(redis.call('ZRANGE', set, middle, middle)[1]) then low = middle + 1 else high = middle end
  end
  local around = redis.call('ZRANGE', set, math.max(low - 1, 0), low, 'WITHSCORES')
  local place, behind = 1, around[low > 0 and 4 or 2]
  if low > first then place = around[2] % BAND + 1 end
  if behind and math.floor(behind / BAND) == band then place = math.min(place, behind % BAND) end
  return place
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

-- shorten_family(ctx, id): remove links that are no longer needed. If a task is removed before its children, its stub
-- stays among its parent's children as a link, by which a cancelled tree finds them. A link without children is
-- removed. If a link's only child is a link, the child takes its place, behind all others, with the stamp of the last
-- cancelled tree. So there are fewer links than tasks.
-- LATE
local function shorten_family(ctx, id) local task, children, ends = KEYS[4], KEYS[22], KEYS[25]
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

-- remove_tasks(ctx, ids, since, why, most): delete tasks that are in no set any more, with their index entries. A call
-- about a task may be sent again for 60 s after the task's time in `since` (none: now). Until then a stub remembers its
-- rid and last settlement. The stub of a child that has children stays as long as they do, so that a cancelled tree
-- finds them. most: about how many commands it may send, at least 1, or nil. Returns how many tasks, and what is left
-- of `most`. To delete a key costs up to three searches outside the CPU caches, even if there is no such key. So it deletes
-- only keys that may exist: without `progress_ms` there is no log, without `deliveries` there are no ended runs,
-- and without `durable` there are no steps.
local function remove_tasks(ctx, ids, since, why, most) local task, payload, result, log, ended_runs, steps, reply, by_user, by_tag, children = KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[20], KEYS[21], KEYS[22]
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
    if parent and some_have == nil then some_have = have_children(ids) end
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
      stubs[#stubs + 1] = stub_of(key, own, why, linked)
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
  for _, id in ipairs(touched) do shorten_family(ctx, id) end
  return count, left
end

-- repair_lane(ctx, lane): make `lanes` name this lane if and only if tasks wait in it. sound, damaged (in a dry run),
-- or repaired.
-- LATE
local function repair_lane(ctx, lane) local ready, lanes = KEYS[11], KEYS[12]
  local there = redis.call('EXISTS', ready .. lane)
  if redis.call('SISMEMBER', lanes, lane) == there then return 'sound' end
  if dry_run then return 'damaged' end
  if there == 1 then
    redis.call('SADD', lanes, lane)
    push_wake(ctx, lane, true)
  else
    lane_emptied(ctx, lane)
  end
  return 'repaired'
end

-- repair_line(ctx, key, from): remove holders of a limit that have no lease with it, and waiting tasks that do not wait
-- there, and schedule a look at its queue. Returns how many were seen in the longer set, and how many were wrong.
-- LATE
local function repair_line(ctx, key, from) local running, leases, task, blocked, holding, waiting, limit_lines = KEYS[2], KEYS[3], KEYS[4], KEYS[15], KEYS[26], KEYS[27], KEYS[28]
  local stale, wrong, long = {}, 0, 0
  local ids = redis.call('ZRANGE', holding .. key, from, from + 999)
  local held = #ids > 0 and redis.call('HMGET', running, unpack(ids)) or {}  -- at most 1,000: the page
  local due = #ids > 0 and redis.call('ZMSCORE', leases, unpack(ids)) or {}  -- at most 1,000: the page
  for i, id in ipairs(ids) do
    local holds = false
    for _, one in ipairs(held_limits(due[i] and held[i])) do holds = holds or one == key end
    if not holds then stale[#stale + 1] = id end
  end
  if #stale > 0 and not dry_run then
    redis.call('ZREM', holding .. key, unpack(stale))  -- at most 1,000: the page
    redis.call('ZADD', limit_lines, 'XX', 'LT', ctx.now - BAND, key)
  end
  wrong, long, stale = #stale, #ids, {}
  local line = redis.call('ZRANGE', waiting .. key, from, from + 999, 'WITHSCORES')
  for i = 1, #line, 2 do
    local there = redis.call('ZSCORE', blocked, line[i]) == line[i + 1]
    if not there or redis.call('HGET', task .. line[i], 'limited_by') ~= key then stale[#stale + 1] = line[i] end
  end
  if #stale > 0 and not dry_run then redis.call('ZREM', waiting .. key, unpack(stale)) end  -- at most 1,000: the page
  wrong, long = wrong + #stale, math.max(long, #line / 2)
  local there = redis.call('EXISTS', waiting .. key)
  if (there == 1) ~= (redis.call('ZSCORE', limit_lines, key) ~= false) then
    wrong = wrong + 1
    if dry_run then return { 'seen', long, wrong } end
    if there == 1 then redis.call('ZADD', limit_lines, ctx.now_text, key) else redis.call('ZREM', limit_lines, key) end
  end
  return { 'seen', long, wrong }
end

-- restore_end(ctx, id, record, how): put a task that has ended among those that have. When it ended is not known, unless
-- it was cancelled; it is kept as if it ended now. The set that it is in then.
local function restore_end(ctx, id, record, how) local finished, dead = KEYS[17], KEYS[18]
  end_ties(ctx, id, record, how)
  if how == 'dead' then
    redis.call('ZADD', dead, ctx.now, id)
    add_count(ctx, 'dead', 1)
    return 'dead'
  end
  redis.call('ZADD', finished, record.cancelled_ms or ctx.now, id)
  ctx.ended = ctx.ended + 1
  return how == 'cancelled' and 'cancelled' or 'completed'
end

-- restore_indexes(id, record): add a task to the indexes by user, tag and parent.
local function restore_indexes(id, record) local by_user, by_tag, children = KEYS[20], KEYS[21], KEYS[22]
  if record.user then redis.call('ZADD', by_user .. record.user, record.created_ms, id) end
  for tag in string.gmatch(record.tags or '', '[^,]+') do redis.call('ZADD', by_tag .. tag, record.created_ms, id) end
  if record.parent then redis.call('ZADD', children .. record.parent, record.created_ms, id) end
end

-- share_place(ctx, lane, user, band): the place of a user's next task with fair shares: the place claimed last in this
-- lane and band, or the end of the user's previous task if that is later. A task of a user with weight 100 % lasts
-- 1,000. config.fair_top is kept above all places, for the case that fair shares are switched off.
local function share_place(ctx, lane, user, band) local config, weights, shares = KEYS[1], KEYS[29], KEYS[30]
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

-- restore_wait(ctx, id, record, score): let a task wait again where it did: for other tasks, for its time, or in its
-- lane at its old place, which the score, its ordering key or a set of dependents may still know. Returns the state.
local function restore_wait(ctx, id, record, score) local task, blocked, once, dependents, order, waiting = KEYS[4], KEYS[15], KEYS[19], KEYS[23], KEYS[24], KEYS[27]
  local key, lane, band = task .. id, record.lane or 'any', tonumber(record.priority) or 5
  local status, number = string.match(record.settled or '', '^%S+ (%l+) (%d+)$')
  local place = score and score % BAND or status == 'released' and tonumber(number) or nil
  local fresh = not (record.ready_ms or record.deliveries)
  local own = { priority = band, expires_at_ms = not record.deliveries and record.expires_at_ms or nil }
  if record.limited_by then
    local at = redis.call('ZSCORE', waiting .. record.limited_by, id)
    place = at and at % BAND or place
  end
  for i, kind in ipairs({ 'unique', 'scope' }) do
    if record[kind] and (i == 1 or fresh) then redis.call('HSETNX', once, kind .. ':' .. record[kind], id) end
  end
  local others, linked, left = {}, 0, 0
  for other in string.gmatch(record.after or '', '[^,]+') do
    local at = tonumber(redis.call('ZSCORE', dependents .. other, id) or nil)
    place, linked = at or place, linked + (at and 1 or 0)
    if redis.call('HEXISTS', task .. other, 'created_ms') == 1 then others[#others + 1] = other end
  end
  if fresh and record.gather then
    local known
    left, known = gather_left(id, record, linked)
    place = known or place
  end
  if record.ordering_key then place = tonumber(redis.call('ZSCORE', order .. record.ordering_key, id) or nil) or place end
  if not place then
    place = ctx.settings_fair > 0 and share_place(ctx, lane, record.user or '', band) or place_by_age(lane, band, id, record)
  end
  if record.ordering_key then
    redis.call('ZADD', order .. record.ordering_key, 'NX', place, id)
    own.behind = redis.call('ZRANGE', order .. record.ordering_key, 0, 0)[1] ~= id
  end
  if left > 0 then own.gather = left end
  if fresh and #others > 0 and tonumber(record.awaits or 0) > 0 then own.after = others end
  if own.behind or own.gather or own.after then
    local by_set = {}
    ctx.there = {}
    redis.call('HSET', key, 'awaits', await_others(ctx, id, own, place, by_set))
    redis.call('ZADD', blocked, unpack(by_set[blocked]))  -- at most 2: this task
    return 'blocked'
  end
  local due_ms = (status == 'retried' or status == 'snoozed') and tonumber(number) or 0
  if fresh then due_ms = math.max(record.created_ms + (record.delay_ms or 0), tonumber(record.run_after_ms or 0)) end
  if due_ms > ctx.now then
    delay_until(ctx, due_ms, id, lane)
  else
    local by_lane = {}
    line_up(by_lane, lane, band * BAND + place, id)
    make_ready(ctx, by_lane)
    redis.call('HSET', key, 'ready_ms', ctx.now_text)
  end
  if record.ties then await_deadline(ctx, id, math.max(due_ms, ctx.now)) end
  return due_ms > ctx.now and 'delayed' or 'ready'
end

-- restore_task(ctx, id, record, score): put a task that is in no set where its record says. score: its old score, if
-- its lease knows it. Returns the state.
local function restore_task(ctx, id, record, score)
  restore_indexes(id, record)
  local how = ended_how(record)
  if how then return restore_end(ctx, id, record, how) end
  return restore_wait(ctx, id, record, score)
end

-- repair_task(ctx, id): put a damaged task into one set: that of its end, else that of its lease, else where it waits.
-- A lease has ended if the record knows its settlement, unless the lease is complete: then the settlement failed
-- half-way and will be sent again. Any other lease continues, with a new deadline if it had none. Returns the state, or
-- `gone`.
local function repair_task(ctx, id) local running, leases, ended_runs, steps, ready, delayed, blocked, deadlines, finished, dead, holding, waiting, limit_lines = KEYS[2], KEYS[3], KEYS[8], KEYS[9], KEYS[11], KEYS[14], KEYS[15], KEYS[16], KEYS[17], KEYS[18], KEYS[26], KEYS[27], KEYS[28]
  local record, held = read_record(id), redis.call('HGET', running, id)
  if not record or not record.created_ms then
    drop_lease(ctx, id, held)
    redis.call('DEL', ended_runs .. id, steps .. id)
    return 'gone'
  end
  local lane, lease = record.lane or 'any', read_lease(held)
  local settled = lease and string.match(record.settled or '', '^%S+') == lease.token
  local states = { [finished] = record.cancelled_ms and 'cancelled' or 'completed', [dead] = 'dead', [ready .. lane] = 'ready',
    [delayed] = 'delayed', [blocked] = 'blocked' }
  local keep, due = nil, redis.call('ZSCORE', leases, id)
  for _, set in ipairs({ finished, dead, ready .. lane, delayed, blocked }) do
    if redis.call('ZSCORE', set, id) then
      local goes_on = lease and not settled and set ~= finished and set ~= dead
      if keep or goes_on then redis.call('ZREM', set, id) else keep = set end
    end
  end
  local state = keep and states[keep]
  local score = keep == blocked and redis.call('ZSCORE', blocked, id)
  if keep then
    drop_lease(ctx, id, held)
    if keep == finished or keep == dead then
      end_ties(ctx, id, record, keep == dead and 'dead' or record.cancelled_ms and 'cancelled' or ended_how(record) or 'completed')
    end
  elseif lease and (due or not settled) then
    redis.call('ZADD', leases, 'NX', string.format('%.0f', ctx.now + ctx.settings_lease_ms), id)
    redis.call('ZREM', deadlines, id)
    for _, key in ipairs(held_limits(held)) do
      redis.call('ZADD', holding .. key, lease.fence, id)
    end
    state = 'running'
  else
    drop_lease(ctx, id, held)
    state = restore_task(ctx, id, record, lease and tonumber(lease.score))
  end
  if redis.call('EXISTS', ready .. lane) == 0 then lane_emptied(ctx, lane) end  -- last: restore_wait may have made shares
  if record.limited_by and not score then
    leave_line(id, record.limited_by)
  elseif record.limited_by then
    redis.call('ZADD', waiting .. record.limited_by, score, id)
    redis.call('ZADD', limit_lines, 'LT', ctx.now_text, record.limited_by)
  end
  emit(ctx, 'task.repaired', id, 'state=' .. state)
  add_count(ctx, 'repaired', 1)
  return state
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

-- store_notes(ctx): store the notes of this call that were not carried out. A later call goes on.
local function store_notes(ctx) local ends = KEYS[25]
  local rows = {}
  for i, note in ipairs(ctx.notes or {}) do rows[2 * i - 1], rows[2 * i] = ctx.now_text, note end
  for first = 1, #rows, 7000 do redis.call('ZADD', ends, unpack(rows, first, math.min(first + 6999, #rows))) end
  ctx.notes = nil
end

-- write_counts(ctx): add what this call has counted to the totals, once a call and not once a task. A number is added to its counter,
-- a table of buckets to one counter for each bucket, and the sum of its values to another.
local function write_counts(ctx) local counters = KEYS[32]
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

  arg_made = { repair_lane = repair_lane, repair_line = repair_line, repair_task = repair_task, retain = retain, store_notes = store_notes, write_counts = write_counts }
  return arg_made
end

local task = KEYS[4]

local ctx, refused = open()
if refused then return refused end

local tasks, by_name, by_key = {}, {}, {}
for i, kind in ipairs(task_count > 0 and find_damage(task_id) or {}) do
  if not kind then
    tasks[i] = { 'sound' }
  elseif dry_run then
    local row = redis.call('HMGET', task .. task_id[i], 'created_ms', 'rid')
    local call, index = string.match(row[2] or '', '^(.*)/(%d+)$')
    tasks[i] = { 'damaged', kind, tonumber(row[1]) or 0, call or '', tonumber(index) or 0 }
  else
    tasks[i] = { 'repaired', kind, arg_rare().repair_task(ctx, task_id[i]) }
  end
end
for i = 1, lane_count do by_name[i] = { arg_rare().repair_lane(ctx, lane_name[i]) } end
for i = 1, line_count do by_key[i] = arg_rare().repair_line(ctx, line_key[i], line_from[i]) end
if ctx.notes then arg_rare().store_notes(ctx) end
if ctx.counts.repaired then
  arg_rare().retain(ctx)
  arg_rare().write_counts(ctx)
end
return { 'ok', ctx.now, tasks, by_name, by_key }
