#!lua flags=allow-oom
-- generated from lua/queue/settle.v1.lua by lua/bundle.py; do not edit
-- queue.settle.v1: the main call of a worker: complete some tasks, fail others and lease the next, in one call. Slot,
-- incarnation, n, busy and lane_first are as in claim; acks and fails are as in ack and fail. If the call is sent
-- again, it returns the same answer, except `already`, as in ack.
--
-- DATA   config        hash           {base}:config
-- DATA   running       hash           {base}:running
-- DATA   leases        zset           {base}:leases
-- DATA   task          prefix/hash    {base}:task:         id
-- DATA   payload       prefix/string  {base}:payload:      id
-- DATA   result        prefix/string  {base}:result:       id
-- DATA   log           prefix/list    {base}:log:          id
-- DATA   ended_runs    prefix/list    {base}:ended_runs:   id
-- DATA   steps         prefix/hash    {base}:steps:        id
-- DATA   reply         prefix/string  {base}:reply:        id
-- DATA   ready         prefix/zset    {base}:ready:        lane
-- DATA   lanes         set            {base}:lanes
-- DATA   wake          prefix/list    {base}:wake:         lane
-- DATA   delayed       zset           {base}:delayed
-- DATA   blocked       zset           {base}:blocked
-- DATA   deadlines     zset           {base}:deadlines
-- DATA   finished      zset           {base}:finished
-- DATA   dead          zset           {base}:dead
-- DATA   workers       zset           {base}:workers
-- DATA   worker_hash   prefix/hash    {base}:worker:       id
-- DATA   control       prefix/list    {base}:control:      id
-- DATA   once          hash           {base}:once
-- DATA   once_due      zset           {base}:once:due
-- DATA   by_user       prefix/zset    {base}:by:user:      label
-- DATA   by_tag        prefix/zset    {base}:by:tag:       label
-- DATA   children      prefix/zset    {base}:children:     id
-- DATA   dependents    prefix/zset    {base}:dependents:   id
-- DATA   order         prefix/zset    {base}:order:        id
-- DATA   ends          zset           {base}:ends
-- DATA   schedules     zset           {base}:schedules
-- DATA   limits        hash           {base}:limits
-- DATA   holding       prefix/zset    {base}:holding:      limit
-- DATA   waiting       prefix/zset    {base}:waiting:      limit
-- DATA   limit_lines   zset           {base}:limit:lines
-- DATA   rates         zset           {base}:rates
-- DATA   weights       hash           {base}:weights
-- DATA   shares        prefix/zset    {base}:shares:       lane
-- DATA   channel       prefix/channel {base}:channel:      id
-- DATA   history       prefix/list    {base}:history:      name
-- DATA   groups_config hash           {base}:events:config
-- DATA   counters      hash           {base}:counters
-- DATA   events        stream         {base}:events
-- ARGV   worker    id
-- ARGV   incarnation name
-- ARGV   slot      int 0..255
-- ARGV   n         int 1..999999999999
-- ARGV   limit     int 0..1000
-- ARGV   lease_ms  int 0..86400000 ?=0
-- ARGV   busy      int -1..100000 ?=-1
-- ARGV   lane_first bool       ?=0
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   acks.id        id
-- ITEM   acks.token     id
-- ITEM   acks.result    bytes 0..1048576
-- ITEM   fails.id       id
-- ITEM   fails.token    id
-- ITEM   fails.retryable bool         ?=1
-- ITEM   fails.reason   name          ?=error
-- ITEM   fails.error    bytes 0..8192 ?=
-- ITEM   fails.jitter_ppm int 0..1000000 ?=500000
-- PAIR   fails.delay_ms int 0..315360000000
-- PAIR   fails.timeout_ms int 1..315360000000
-- PAIR   fails.alert    bool ?=0
-- PAIR   fails.sealed   bool ?=0
-- PAIR   fails.exit_code int -1000..1000
-- PAIR   fails.run_trace bytes 1..128
-- ITEM   lanes_wanted.lane lane
-- GROUP  lanes_wanted   0..64
-- RETURN ok        now_ms:int next_ms:int fires_ms:int lease_ms:int deadline_ms:int acks:list(ack) fails:list(fail) leases:list(lease)
-- RETURN stale
-- RETURN unregistered
-- EACH   ack       completed
-- EACH   ack       result_dropped
-- EACH   ack       already
-- EACH   ack       lease_lost
-- EACH   fail      retried due_ms:int
-- EACH   fail      dead
-- EACH   fail      cancelled
-- EACH   fail      lease_lost
-- EACH   lease     leased id:id token:id fence:int attempt:int delivery:int payload:bytes record:pairs(task)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.completed task.retried task.claimed task.promoted task.stalled task.dead task.expired task.moved
-- EVENT  task.cancelled task.removed task.alert worker.lost task.unblocked task.limited
-- ROLE   work
-- REPLAY slot
-- FLAGS  allow-oom
-- COST   23 + 2n commands, 26 + 2n once a second, 4 and up to 100 more for a claim of tasks that are not all plain, 1 more if payloads are not kept and n if they are kept for a time, 1 more if the queue has schedules, 8 more for each task that others wait for, 5 to 10 for each of up to 100 waiting tasks, 7 more if there are limits, 2 for each limit of a task, 6 for a task that joins or leaves a limit queue, at most 100, O(n log m); at most 52,000 commands, 970,000 steps

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
local function arg_int(v, min, max)
  if not v or #v > 17 or (v ~= '0' and not arg_find(v, '^%-?[1-9]%d*$')) then return nil end
  local n = v + 0
  if n >= min and n <= max and (n < 0 or #v <= 16) then return n end
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
  if KEYS[2] ~= arg_base .. '!work' then return refuse('key gate', KEYS[2], arg_base .. '!work') end
  KEYS = { arg_base .. ':config', arg_base .. ':running', arg_base .. ':leases', arg_base .. ':task:', arg_base .. ':payload:', arg_base .. ':result:', arg_base .. ':log:', arg_base .. ':ended_runs:', arg_base .. ':steps:', arg_base .. ':reply:', arg_base .. ':ready:', arg_base .. ':lanes', arg_base .. ':wake:', arg_base .. ':delayed', arg_base .. ':blocked', arg_base .. ':deadlines', arg_base .. ':finished', arg_base .. ':dead', arg_base .. ':workers', arg_base .. ':worker:', arg_base .. ':control:', arg_base .. ':once', arg_base .. ':once:due', arg_base .. ':by:user:', arg_base .. ':by:tag:', arg_base .. ':children:', arg_base .. ':dependents:', arg_base .. ':order:', arg_base .. ':ends', arg_base .. ':schedules', arg_base .. ':limits', arg_base .. ':holding:', arg_base .. ':waiting:', arg_base .. ':limit:lines', arg_base .. ':rates', arg_base .. ':weights', arg_base .. ':shares:', arg_base .. ':channel:', arg_base .. ':history:', arg_base .. ':events:config', arg_base .. ':counters', arg_base .. ':events' }
end

local worker = ARGV[1]
if not worker or #worker > 200 or not arg_find(worker, '^[%w._:/@+-]+$') then
  return refuse('worker', worker, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local incarnation = ARGV[2]
if not incarnation or #incarnation > 100 or not arg_find(incarnation, '^[%w._@+-]+$') then
  return refuse('incarnation', incarnation, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
end
local slot = ARGV[3]
slot = arg_uint(slot, 0, 255)
if not slot then return refuse('slot', ARGV[3], 'an integer from 0 to 255') end
local n = ARGV[4]
n = arg_uint(n, 1, 999999999999)
if not n then return refuse('n', ARGV[4], 'an integer from 1 to 999999999999') end
local limit = ARGV[5]
limit = arg_uint(limit, 0, 1000)
if not limit then return refuse('limit', ARGV[5], 'an integer from 0 to 1000') end
local lease_ms = ARGV[6]
if lease_ms == '' then
  lease_ms = 0
else
  lease_ms = arg_uint(lease_ms, 0, 86400000)
  if not lease_ms then return refuse('lease_ms', ARGV[6], 'an integer from 0 to 86400000') end
end
local busy = ARGV[7]
if busy == '' then
  busy = -1
else
  busy = arg_int(busy, -1, 100000)
  if not busy then return refuse('busy', ARGV[7], 'an integer from -1 to 100000') end
end
local lane_first = ARGV[8]
if lane_first ~= '0' and lane_first ~= '1' and lane_first ~= '' then
  return refuse('lane_first', lane_first, '0 or 1')
end
lane_first = lane_first == '1'
local trace = ARGV[9]
if not trace or #trace > 128 then
  return refuse('trace', trace and #trace, '0 to 128 bytes long')
end
local source = ARGV[10]
if not source or #source > 200 then
  return refuse('source', source and #source, '0 to 200 bytes long')
end
local now_ms = ARGV[11]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9007199254740991)
  if not now_ms then return refuse('now_ms', ARGV[11], 'an integer from 0 to 9007199254740991') end
end
local arg_at = 12
local arg_bytes = 0
local acks_count = ARGV[arg_at]
acks_count = arg_uint(acks_count, 0, 1000)
if not acks_count then return refuse('acks_count', ARGV[arg_at], 'an integer from 0 to 1000') end
arg_at = arg_at + 1
local acks_id, acks_token, acks_result = arg_empty, arg_empty, arg_empty
if acks_count > 0 then acks_id, acks_token, acks_result = {}, {}, {} end
for i = 1, acks_count do
  local v = ARGV[arg_at]
  if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
    return refuse('acks[' .. i .. '].id', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
  end
  acks_id[i] = v
  v = ARGV[arg_at + 1]
  if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
    return refuse('acks[' .. i .. '].token', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
  end
  acks_token[i] = v
  v = ARGV[arg_at + 2]
  if not v or #v > 1048576 then
    return refuse('acks[' .. i .. '].result', v and #v, '0 to 1048576 bytes long')
  end
  arg_bytes = arg_bytes + #v
  acks_result[i] = v
  arg_at = arg_at + 3
end
local fails_count = ARGV[arg_at]
fails_count = arg_uint(fails_count, 0, 1000)
if not fails_count then return refuse('fails_count', ARGV[arg_at], 'an integer from 0 to 1000') end
arg_at = arg_at + 1
local fails_id, fails_token, fails_retryable, fails_reason, fails_error, fails_jitter_ppm, fails_pairs = arg_empty, arg_empty, arg_empty, arg_empty, arg_empty, arg_empty, arg_empty
if fails_count > 0 then fails_id, fails_token, fails_retryable, fails_reason, fails_error, fails_jitter_ppm, fails_pairs = {}, {}, {}, {}, {}, {}, {} end
local arg_seen_fails
for i = 1, fails_count do
  local v = ARGV[arg_at]
  if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
    return refuse('fails[' .. i .. '].id', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
  end
  fails_id[i] = v
  v = ARGV[arg_at + 1]
  if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
    return refuse('fails[' .. i .. '].token', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
  end
  fails_token[i] = v
  v = ARGV[arg_at + 2]
  if v ~= '0' and v ~= '1' and v ~= '' then
    return refuse('fails[' .. i .. '].retryable', v, '0 or 1')
  end
  v = v ~= '0'
  fails_retryable[i] = v
  v = ARGV[arg_at + 3]
  if v == '' then
    v = 'error'
  elseif not v or #v > 100 or not arg_find(v, '^[%w._@+-]+$') then
    return refuse('fails[' .. i .. '].reason', v, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
  end
  fails_reason[i] = v
  v = ARGV[arg_at + 4]
  if not v or #v > 8192 then
    return refuse('fails[' .. i .. '].error', v and #v, '0 to 8192 bytes long')
  end
  arg_bytes = arg_bytes + #v
  fails_error[i] = v
  v = ARGV[arg_at + 5]
  if v == '' then
    v = 500000
  else
    v = arg_uint(v, 0, 1000000)
    if not v then return refuse('fails[' .. i .. '].jitter_ppm', ARGV[arg_at + 5], 'an integer from 0 to 1000000') end
  end
  fails_jitter_ppm[i] = v
  arg_at = arg_at + 6
  local size, entry = ARGV[arg_at], arg_empty
  arg_at = arg_at + 1
  if size ~= '0' then
    size = size and #size == 1 and arg_find('123456', size, 1, true) or arg_uint(size, 0, 6)
    if not size then return refuse('fails[' .. i .. '].pairs', ARGV[arg_at - 1], 'an integer from 0 to 6') end
    arg_seen_fails = arg_seen_fails or {}
    local filled = 0
    for at = arg_at, arg_at + 2 * size - 2, 2 do
      local name, raw = ARGV[at], ARGV[at + 1]
      local v = raw
      if name == 'delay_ms' then
        v = arg_uint(v, 0, 315360000000)
        if not v then return refuse('fails[' .. i .. '].delay_ms', raw, 'an integer from 0 to 315360000000') end
      elseif name == 'timeout_ms' then
        v = arg_uint(v, 1, 315360000000)
        if not v then return refuse('fails[' .. i .. '].timeout_ms', raw, 'an integer from 1 to 315360000000') end
      elseif name == 'alert' then
        if raw == '' then
          v = nil
        else
          if v ~= '0' and v ~= '1' then
            return refuse('fails[' .. i .. '].alert', v, '0 or 1')
          end
          v = v == '1'
          if v == false then v = nil end
        end
      elseif name == 'sealed' then
        if raw == '' then
          v = nil
        else
          if v ~= '0' and v ~= '1' then
            return refuse('fails[' .. i .. '].sealed', v, '0 or 1')
          end
          v = v == '1'
          if v == false then v = nil end
        end
      elseif name == 'exit_code' then
        v = arg_int(v, -1000, 1000)
        if not v then return refuse('fails[' .. i .. '].exit_code', raw, 'an integer from -1000 to 1000') end
      elseif name == 'run_trace' then
        if not v or #v < 1 or #v > 128 then
          return refuse('fails[' .. i .. '].run_trace', v and #v, '1 to 128 bytes long')
        end
      else
        return refuse('fails[' .. i .. '].pairs', name, 'names from delay_ms, timeout_ms, alert, sealed, exit_code, run_trace')
      end
      if arg_seen_fails[name] == i then
        return refuse('fails[' .. i .. '].' .. name, 2, 'given at most once')
      end
      arg_seen_fails[name] = i
      arg_bytes = arg_bytes + #raw
      if v ~= nil then
        if filled == 0 then
          entry = { name, raw, [name] = v }
        else
          entry[filled + 1] = name
          entry[filled + 2] = raw
          entry[name] = v
        end
        filled = filled + 2
      end
    end
    arg_at = arg_at + 2 * size
  end
  fails_pairs[i] = entry
end
local lanes_wanted_count = ARGV[arg_at]
lanes_wanted_count = arg_uint(lanes_wanted_count, 0, 64)
if not lanes_wanted_count then return refuse('lanes_wanted_count', ARGV[arg_at], 'an integer from 0 to 64') end
arg_at = arg_at + 1
local lanes_wanted_lane = arg_empty
if lanes_wanted_count > 0 then lanes_wanted_lane = {} end
for i = 1, lanes_wanted_count do
  local v = ARGV[arg_at]
  v = arg_lane(v)
  if not v then return refuse('lanes_wanted[' .. i .. '].lane', ARGV[arg_at], 'any, group/<name> or group/<name>/inst/<name>') end
  lanes_wanted_lane[i] = v
  arg_at = arg_at + 1
end
if acks_count + fails_count + lanes_wanted_count > 1000 then
  return refuse('acks_count + fails_count + lanes_wanted_count', acks_count + fails_count + lanes_wanted_count, 'at most 1000')
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end
if arg_bytes > 16777216 then
  return refuse('the items of a call', arg_bytes, 'at most 16777216 bytes')
end

-- add_steps(record, id, bytes): add the steps of a leased task to its record, a flat list: for each a pair `step:<label>`,
-- with its entry of `steps:<id>`. If they have more than 64 KiB, they are left out, and the worker reads them with `steps`.
-- bytes: of all its steps.
local function add_steps(record, id, bytes) local steps = KEYS[9]
  if bytes > 65536 then return end
  local flat = redis.call('HGETALL', steps .. id)  -- at most 4,096: 64 KiB, and a step counts 32 bytes
  for f = 1, #flat, 2 do
    record[#record + 1] = 'step:' .. flat[f]
    record[#record + 1] = flat[f + 1]
  end
end

-- count_times(name, times): count times (ms) in the buckets of a histogram and in its sum, as observe and write_counts do.
local function count_times(name, times) local counters = KEYS[41]
  local buckets, sum = {}, 0
  for i = 1, #times do
    local ms, bound = times[i], 1
    while bound < ms and bound < 2147483648 do bound = bound * 2 end  -- at most 31: doublings
    buckets[bound] = (buckets[bound] or 0) + 1
    if ms > 0 then sum = math.min(sum + ms, 1e15) end
  end
  for bound, count in pairs(buckets) do redis.call('HINCRBY', counters, name .. ':' .. bound, count) end
  if sum > 0 then redis.call('HINCRBY', counters, name .. '_sum', sum) end
end

-- plain_due(row, now, runs): when something is due next, or MAX_SAFE; nil if something is due now or ends are noted. Also
-- the first time in deadlines and delayed, or false if there are none; and whether leases of runs, which end now, have
-- kept it from seeing the next lease: it reads at most four of them, and the others end no sooner than these.
local function plain_due(row, now, runs) local leases, delayed, deadlines, ends = KEYS[3], KEYS[14], KEYS[16], KEYS[29]
  local most = runs and math.min(#runs, 4) or 0
  local heads, at = redis.call('ZRANGE', leases, '0', most, 'WITHSCORES'), 1
  while runs and runs[heads[at]] do at = at + 2 end  -- at most 5: see above
  local unread = #heads > 2 * most and not heads[at]
  local next_ms = tonumber(heads[unread and at - 1 or at + 1] or MAX_SAFE)
  local timed_ms = redis.call('EXISTS', deadlines, delayed) > 0 and MAX_SAFE
  if timed_ms then
    heads = redis.call('ZRANGE', deadlines, '0', '0', 'WITHSCORES')
    timed_ms = math.min(timed_ms, heads[2] or MAX_SAFE)
    heads = redis.call('ZRANGE', delayed, '0', '0', 'WITHSCORES')
    timed_ms = math.min(timed_ms, heads[2] or MAX_SAFE)
    next_ms = math.min(next_ms, timed_ms)
  end
  if next_ms <= now or (row[11] == '1' and redis.call('EXISTS', ends) == 1) then return nil end
  return next_ms, timed_ms, unread
end

-- plain_tasks(now, now_text, wanted): the next tasks, if only one of these lanes has tasks, and they need no more than a
-- lease; otherwise nil. found: the lane, its next ids and scores, the leases without token and fence, the entries of
-- `running` without these and the worker, and how long the tasks have waited.
local function plain_tasks(now, now_text, wanted) local task, payload, ready = KEYS[4], KEYS[5], KEYS[11]
  local lane, page = nil, {}
  for i = 1, #wanted do
    local some = redis.call('ZRANGE', ready .. wanted[i], '0', limit, 'WITHSCORES')
    if some[1] and lane then return nil end
    if some[1] then lane, page = wanted[i], some end
  end
  local match, count, bytes, leased, held, payloads, waits = string.match, math.min(limit, #page / 2), 0, {}, {}, {}, {}
  if count > 100 then return nil end  -- if one of them is unusual, all are read again
  for i = 1, count do
    local id = page[2 * i - 1]
    local record = redis.call('HGETALL', task .. id)  -- at most 70: fields of a record
    local attempt, delivery, crashes, created_ms, ready_ms, tied, stored = 1, 1, '0', nil, nil, '', nil
    for f = 1, #record, 2 do
      local name, value = record[f], record[f + 1]
      bytes = bytes + #value
      if name == 'created_ms' then created_ms = value
      elseif name == 'ready_ms' then ready_ms = value
      elseif name == 'attempts' then attempt = value + 1
      elseif name == 'crashes' then crashes = value
      elseif name == 'deliveries' then delivery = value + 1
      elseif name == 'size' then bytes = bytes + value
      elseif name == 'ties' then tied = ' ties'
      elseif name == 'trace' or name == 'scope' or name == 'expires_at_ms' or name == 'fallback_after_ms' then return nil
      elseif name == 'durable' then stored = tonumber(match(value, '^%d+ (%d+)$'))
      end
    end
    bytes = bytes + 2048
    if stored then
      add_steps(record, id, stored)
      bytes = bytes + math.min(65536, stored)
    end
    if not created_ms or bytes > 4194304 then return nil end
    local runs = delivery == 1 and '1 1 0' or attempt .. ' ' .. delivery .. ' ' .. crashes
    payloads[i], waits[i] = payload .. id, now - (ready_ms or created_ms)
    leased[i] = { 'leased', id, '', 0, attempt, delivery, '', record }
    held[2 * i - 1] = id
    held[2 * i] = ' ' .. page[2 * i] .. ' ' .. lane .. tied .. '|' .. now_text .. ' ' .. runs .. ' '
  end
  if count > 0 then payloads = redis.call('MGET', unpack(payloads)) end  -- at most 100: see above
  for i = 1, count do
    if not payloads[i] then return nil end
    leased[i][7] = payloads[i]
  end
  return { lane = lane, page = page, leased = leased, held = held, waits = waits }
end

-- claim_plain(row, now, now_text, seen_ms, wanted, runs, complete): the usual claim, after plain_slot: nothing is due, and
-- the next tasks are plain. It sends the commands of sweep, claim_tasks and close. If anything is unusual, it returns nil
-- before any write, otherwise the answer. complete() ends the tasks of runs, see plain_runs, and returns the answers for
-- them.
local function claim_plain(row, now, now_text, seen_ms, wanted, runs, complete) local config, running, leases, ready, lanes, wake, worker_hash, schedules, events = KEYS[1], KEYS[2], KEYS[3], KEYS[11], KEYS[12], KEYS[13], KEYS[20], KEYS[30], KEYS[42]
  local next_ms, timed_ms, unread = plain_due(row, now, runs)
  local found = next_ms and plain_tasks(now, now_text, wanted)
  if not found then return nil end
  local lane, leased, held, count = found.lane, found.leased, found.held, #found.leased
  local digits = string.format  -- takes less time than to append a number
  local slot_text, n_text = digits('%d', slot), digits('%d', n)
  local acks = complete and complete()
  if unread then
    next_ms = math.min(timed_ms or MAX_SAFE, redis.call('ZRANGE', leases, '0', '0', 'WITHSCORES')[2] or MAX_SAFE)
  end
  local length_ms = lease_ms > 0 and lease_ms or tonumber(row[3] or 15000)
  local deadline_text, all = digits('%d', now + length_ms), ''
  if count > 0 then
    local fence, ids, ending = redis.call('HINCRBY', config, 'fence', count) - count, {}, {}
    local token_start = incarnation .. '.' .. slot_text .. '.' .. n_text .. '/'
    for i = 1, count do
      local lease, token = leased[i], token_start .. i
      lease[3], lease[4], ids[i] = token, fence + i, lease[2]
      held[2 * i] = token .. held[2 * i] .. digits('%d', fence + i) .. ' ' .. worker
      ending[2 * i - 1], ending[2 * i] = deadline_text, lease[2]
    end
    all = table.concat(ids, ' ')
    redis.call('ZREMRANGEBYRANK', ready .. lane, '0', count - 1)
    -- at most 200: two for each lease
    redis.call('ZADD', leases, unpack(ending))
    redis.call('HSET', running, unpack(held))
    redis.call('XADD', events, 'MAXLEN', '~', row[4] or '100000', '*', 'event', 'task.claimed',
      'timestamp', now_text, 'id', all,
      'payload', 'worker=' .. worker .. ' fence=' .. digits('%d', fence + 1) .. ' deadline_ms=' .. deadline_text)
    count_times('wait_ms', found.waits)
  end
  if #found.page > 2 * count then
    if redis.call('EXISTS', wake .. lane) == 0 then redis.call('LPUSH', wake .. lane, '1') end
  elseif count > 0 then
    redis.call('SREM', lanes, lane)
    if timed_ms then redis.call('PEXPIRE', wake .. lane, '60000') else redis.call('DEL', wake .. lane) end
  end
  redis.call('HSET', worker_hash .. worker, 'slot:' .. slot_text, n_text .. ' ' .. seen_ms .. ' ' .. all, 'busy',
    busy < 0 and '' or busy + count)
  local heads = row[12] == '1' and redis.call('ZRANGE', schedules, '0', '0', 'WITHSCORES') or {}
  local fires_ms = tonumber(heads[2] or MAX_SAFE)
  if fires_ms == MAX_SAFE then fires_ms = 0 end  -- there are none, or all are paused
  if next_ms == MAX_SAFE then next_ms = 0 end
  if acks then return { 'ok', now, next_ms, fires_ms, length_ms, now + length_ms, acks, {}, leased } end
  return { 'ok', now, next_ms, fires_ms, length_ms, now + length_ms, leased }
end

-- complete_plain(row, now, now_text, ids, tokens, results, runs): complete plain tasks, as ack_tasks, end_leases, emit
-- and write_counts do. runs: as plain_runs returns them. Returns the answers.
local function complete_plain(row, now, now_text, ids, tokens, results, runs) local running, leases, task, result, finished, events = KEYS[2], KEYS[3], KEYS[4], KEYS[6], KEYS[17], KEYS[42]
  local answers, by_time, kept, times, completed = {}, {}, {}, {}, { 'completed' }
  for i, id in ipairs(ids) do
    redis.call('HSET', task .. id, 'settled', tokens[i] .. ' completed', 'ran', runs[i])
    if results[i] ~= '' then kept[#kept + 1], kept[#kept + 2] = result .. id, results[i] end
    answers[i], by_time[2 * i - 1], by_time[2 * i] = completed, now_text, id
    times[i] = now - string.match(runs[i], '^%d+')
  end
  -- at most 2,000: two for each item
  redis.call('HDEL', running, unpack(ids))
  redis.call('ZREM', leases, unpack(ids))
  redis.call('ZADD', finished, unpack(by_time))
  if kept[1] then redis.call('MSET', unpack(kept)) end
  redis.call('XADD', events, 'MAXLEN', '~', row[4] or '100000', '*', 'event', 'task.completed',
    'timestamp', now_text, 'id', table.concat(ids, ' '))
  count_times('run_ms', times)
  return answers
end

-- plain_runs(row, held, ids, tokens, results): what the records keep of the runs of these tasks, by index and id, if all
-- are plain: they have the leases with these tokens (held), ran only once, and have no ties, limits, trace or cancel
-- request; and small results are kept with them. Otherwise nil. complete_plain ends plain tasks.
local function plain_runs(row, held, ids, tokens, results) local finished = KEYS[17]
  if row[6] or row[7] then return nil end
  local match, runs = string.match, {}
  for i, id in ipairs(ids) do
    local token, ran = match(held[i] or '', '^(%S+) %S+ [^ |]+|(%d+ 1 .*)$')
    if token ~= tokens[i] or runs[id] or #results[i] > 4096 then return nil end
    runs[i], runs[id] = ran, i
  end
  local max = tonumber(row[5] or 100000)
  if redis.call('ZCARD', finished) + #ids > max + math.min(100, math.floor(max / 20)) then return nil end  -- see retain
  return runs
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

-- plain_slot(row): whether a call that claims is the next one of its slot, with no housekeeping, in a queue
-- that runs with events, and without limits, fair shares and a default timeout. Returns the time as a number and as text,
-- or nil; and what check_slot reads, if this has been read.
local function plain_slot(row) local worker_hash = KEYS[20]
  if not row[1] or row[4] == '0' or (row[10] or 'running') ~= 'running'
    or (row[13] or '0') ~= '0' or (row[9] or '0') ~= '0' or (row[14] or '0') ~= '0'
    or (row[8] or '0') ~= '0' then
    return nil
  end
  local known = redis.call('HMGET', worker_hash .. worker, 'incarnation', string.format('slot:%d', slot), 'heard')
  local last, seen_ms = string.match(known[2] or '0 0 ', '^(%d+) (%d+) ')
  if known[1] ~= incarnation or n <= last + 0 then return nil, nil, known end
  local now, now_text = read_clock(row[1], row[2])
  if not now or math.abs(now - seen_ms) >= 1000 then return nil, nil, known end
  return now, now_text, known, seen_ms
end

local config, running = KEYS[1], KEYS[2]

-- The usual call: acks of plain tasks, and the next plain tasks. It makes no functions but these.
local row, held, known
if fails_count == 0 and source .. trace == '' then
  row = redis.call('HMGET', config, 'layout_min', 'clock', 'lease_ms', 'events_max', 'finished_max', 'result_ms', 'payload_ms', 'timeout_ms', 'fair', 'mode', 'chains', 'schedules', 'limits', 'fair_top')
  local now, now_text, seen_ms, runs
  now, now_text, known, seen_ms = plain_slot(row)
  if now and acks_count > 0 then
    held = redis.call('HMGET', running, unpack(acks_id))  -- at most 1,000: items
    runs = plain_runs(row, held, acks_id, acks_token, acks_result)
  end
  if now and (runs or acks_count == 0) then
    local function complete()
      return runs and complete_plain(row, now, now_text, acks_id, acks_token, acks_result, runs) or {}
    end
    local answer = claim_plain(row, now, now_text, seen_ms, lanes_wanted_lane, runs, complete)
    if answer then return answer end
  end
end

local arg_rare

-- emit(ctx, event, id, detail): add an entry to the stream, if the noun keeps events. detail: `name=value` words, or
-- ''. The trace is ctx.trace, that of the task, or else that of the call.
local function emit(ctx, event, id, detail) local events = KEYS[42]
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

-- keep_result(ctx, id, value, own_ms, kept): keep a result with its record, or for a time, or not at all, as the task
-- or the queue says. kept: arguments of one MSET for the whole call. Returns false if it was dropped because the server
-- is full.
-- EARLY
local function keep_result(ctx, id, value, own_ms, kept) local task, result = KEYS[4], KEYS[6]
  local keep_ms = own_ms or ctx.settings_result_ms
  if value == '' or keep_ms == 0 then return true end
  if #value > 4096 and arg_rare().is_full() then return false end
  if not keep_ms then
    kept[#kept + 1], kept[#kept + 2] = result .. id, value
  else
    -- Past its time it is not shown; the server deletes it later, by its own clock.
    redis.call('HSET', task .. id, 'result_until_ms', string.format('%.0f', ctx.now + keep_ms))
    redis.call('SET', result .. id, value, 'PX', string.format('%.0f', math.max(2 * keep_ms, 60000)))
  end
  return true
end

-- observe(ctx, name, value): count a value in its histogram bucket, counter '<name>:<bound>', where bound is the smallest
-- power of two that is not below the value (at most 2^31). The values are also added up, for the counter '<name>_sum'.
-- EARLY
local function observe(ctx, name, value)
  local bound = 1
  while bound < value and bound < 2147483648 do bound = bound * 2 end  -- at most 31: doublings
  local buckets = ctx.counts[name]
  if not buckets then
    buckets = {}
    ctx.counts[name] = buckets
  end
  buckets[bound] = (buckets[bound] or 0) + 1
  -- A clock may be set back, and a sum must not fall. Above 10^15 it might not stay an integer.
  if value > 0 then buckets.sum = math.min((buckets.sum or 0) + value, 1e15) end
end

-- ack_tasks(ctx, ids, tokens, results, held): complete the tasks whose lease has the given token; one answer each. held:
-- their entries of `running`, if the caller has read them.
local function ack_tasks(ctx, ids, tokens, results, held) local running, task, finished = KEYS[2], KEYS[4], KEYS[17]
  local answers, done, by_time, kept, ended, traces = {}, {}, {}, {}, {}, nil
  if #ids == 0 then return answers end
  local byte, find, sub, match = string.byte, string.find, string.sub, string.match
  local completed, dropped = { 'completed' }, { 'result_dropped' }
  held = held or redis.call('HMGET', running, unpack(ids))  -- at most 1,000: items
  for i, id in ipairs(ids) do
    local token, lease = tokens[i], held[i]
    -- flags_of, inlined: a function call would make an ack of 100 tasks 3 % slower.
    if not lease or ended[id] or find(lease, token, 1, true) ~= 1 or byte(lease, #token + 1) ~= 32 then
      answers[i] = arg_rare().settled_before(id, token, { completed = true, result_dropped = true })
      if answers[i][1] == 'completed' and arg_rare().has_other_result(ctx, id, token, results[i], ended[id]) then answers[i] = { 'already' } end
    else
      local bar = find(lease, '|', #token, true)
      local ran, tied, own_ms = sub(lease, bar + 1), find(lease, ' ties', #token, true), nil
      local started_ms, attempt = match(ran, '^(%d+) (%d+)')
      if tied and tied < bar then
        local fits = #results[i] <= 4096 or not arg_rare().is_full()
        local own = arg_rare().on_end(ctx, id, fits and 'completed' or 'result_dropped', fits and results[i] or '')
        own_ms = tonumber(own.result_ms)
      end
      answers[i] = keep_result(ctx, id, results[i], own_ms, kept) and completed or dropped
      redis.call('HSET', task .. id, 'settled', token .. ' ' .. answers[i][1], 'ran', ran)
      local at = #done + 1
      local traced = find(lease, ' trace=', #token, true)
      if traced then
        traces = traces or {}
        traces[at] = match(lease, '^([^ |]+)', traced + 7)
      end
      done[at], by_time[2 * at - 1], by_time[2 * at], ended[id] = id, ctx.now_text, id, results[i]
      observe(ctx, 'run_ms', ctx.now - started_ms)
      if attempt ~= '1' then observe(ctx, 'attempts', tonumber(attempt)) end
    end
  end
  if #done == 0 then return answers end
  end_leases(ctx, done)
  -- at most 2,000: two for each item
  redis.call('ZADD', finished, unpack(by_time))
  if #kept > 0 then redis.call('MSET', unpack(kept)) end
  if ctx.settings_payload_ms then arg_rare().drop_payloads(ctx, done) end
  ctx.trace = traces and arg_rare().join_traces(traces, #done)
  emit(ctx, 'task.completed', table.concat(done, ' '), '')
  ctx.trace = nil
  ctx.ended = ctx.ended + #done
  return answers
end

-- add_payloads(leased): read the payloads of claimed tasks into entry 7. Returns the ids without a payload key: these
-- payloads were evicted, because empty payloads are stored, too.
-- EARLY
local function add_payloads(leased) local payload = KEYS[5]
  if #leased == 0 then return {} end
  local keys, missing = {}, {}
  for i, lease in ipairs(leased) do keys[i] = payload .. lease[2] end
  local payloads = redis.call('MGET', unpack(keys))  -- at most 1,000: leases of a claim
  for i, lease in ipairs(leased) do
    lease[7] = payloads[i] or ''
    if not payloads[i] then missing[#missing + 1] = lease[2] end
  end
  return missing
end

-- check_slot(ctx, row): compare this call with the last call of its slot: 'fresh', with the time of the slot's last
-- housekeeping; 'replay', with the ids that the call got before; 'stale'; or 'unregistered'. The token of a request
-- that the worker has not heard may be lost: it is left again, so an idle worker need not ask. Once a second, when the slot's
-- housekeeping is due: the token ends the worker's wait, and it would claim in a circle until its heartbeat is through.
-- row: what it reads, if the caller has read it.
local function check_slot(ctx, row) local worker_hash = KEYS[20]
  row = row or redis.call('HMGET', worker_hash .. worker, 'incarnation', 'slot:' .. slot, 'heard')
  if not row[1] then return 'unregistered' end
  local last, seen_ms, given = string.match(row[2] or '0 0 ', '^(%d+) (%d+) (.*)$')
  last = tonumber(last)
  if row[1] ~= incarnation or n < last then return 'stale' end
  if row[3] == '0' and math.abs(ctx.now - seen_ms) >= 1000 then arg_rare().push_control(ctx, worker) end
  if n == last then return 'replay', given end
  return 'fresh', tonumber(seen_ms)
end

-- on_take(ctx, wanted, from, scores, taken): generated from lua/queue/noun.toml: calls the hooks of fair.
local function on_take(ctx, wanted, from, scores, taken)
  if ctx.settings_fair > 0 then arg_rare().fair_on_take(ctx, wanted, from, scores, taken) end
end

-- peek_ready(wanted, limit): the next tasks of these lanes. The lowest priority band comes first and, inside a band,
-- the lanes in order; with lane_first, the other way round. Returns lists of ids, scores and lane numbers, and how many
-- were read of each lane: one more than are taken, if there are more.
local function peek_ready(wanted, limit) local ready = KEYS[11]
  local size = math.min(limit, math.ceil(limit / #wanted) + 15) + 1
  local pages, at, there, named = {}, {}, {}, {}
  local function turn(lane)
    pages[lane] = redis.call('ZRANGE', ready .. wanted[lane], there[lane], there[lane] + size - 1, 'WITHSCORES')
    at[lane], there[lane] = 1, there[lane] + #pages[lane] / 2
  end
  for lane = 1, #wanted do
    pages[lane], at[lane], there[lane] = {}, 1, 0
    if not named[wanted[lane]] then turn(lane) end  -- a lane named twice is seen once
    named[wanted[lane]] = true
  end
  local ids, scores, from = {}, {}, {}
  for i = 1, limit do
    local best, best_band
    for lane = 1, #pages do
      local score = pages[lane][at[lane] + 1]
      local band = score and math.floor(score / BAND)
      if band and (not best or (band < best_band and not lane_first)) then best, best_band = lane, band end
    end
    if not best then break end
    ids[i], scores[i], from[i] = pages[best][at[best]], pages[best][at[best] + 1], best
    at[best] = at[best] + 2
    if at[best] > 2 * size then turn(best) end
  end
  return ids, scores, from, there
end

-- read_task(id): read a task for a claim: its record as a flat list; its attempts, crashes and deliveries; since when
-- it was ready, nil if the record is gone; about how many bytes it takes in a reply, with its payload; whether it has
-- ties; the trace of its enqueue, if any; and the bytes of its steps, if it has any. A payload above 1 KiB has its size in
-- the record.
-- EARLY
local function read_task(id) local task = KEYS[4]
  local record = redis.call('HGETALL', task .. id)  -- at most 70: fields of a record
  local attempts, crashes, deliveries, created_ms, ready_ms, bytes, tied, traced, stored = 0, 0, 0, nil, nil, 2048, false, nil, nil
  for f = 1, #record, 2 do
    local name, value = record[f], record[f + 1]
    bytes = bytes + #value
    if name == 'created_ms' then created_ms = tonumber(value)
    elseif name == 'ready_ms' then ready_ms = tonumber(value)
    elseif name == 'attempts' then attempts = tonumber(value)
    elseif name == 'crashes' then crashes = tonumber(value)
    elseif name == 'deliveries' then deliveries = tonumber(value)
    elseif name == 'ties' then tied = true
    elseif name == 'size' then bytes = bytes + value
    elseif name == 'trace' then traced = value
    elseif name == 'durable' then
      stored = tonumber(string.match(value, '^%d+ (%d+)$'))
      bytes = bytes + math.min(65536, stored)
    end
  end
  return record, attempts, crashes, deliveries, created_ms and (ready_ms or created_ms), bytes, tied, traced, stored
end

-- lane_emptied(ctx, lane): note that no task waits in this lane any more. Its wake token is deleted, but a token for a
-- due time expires by itself.
local function lane_emptied(ctx, lane) local lanes, wake, delayed, deadlines, shares = KEYS[12], KEYS[13], KEYS[14], KEYS[16], KEYS[37]
  redis.call('SREM', lanes, lane)
  if ctx.settings_fair > 0 or ctx.settings_fair_top > 0 then redis.call('EXPIRE', shares .. lane, ctx.settings_limits > 0 and 2592000 or 86400) end
  if redis.call('EXISTS', delayed, deadlines) == 0 then
    redis.call('DEL', wake .. lane)
  else
    redis.call('PEXPIRE', wake .. lane, 60000)
  end
end

-- push_wake(ctx, lane, was_empty): push a wake-up token for a blocked worker, unless the queue is paused. One is enough: it
-- is a hint, not a task.
-- was_empty: the lane may have been empty. Then its token may be for a due time, and must not expire any more.
local function push_wake(ctx, lane, was_empty) local wake = KEYS[13]
  if (ctx.mode or ctx.settings_mode) == 'paused' then return was_empty and redis.call('PERSIST', wake .. lane) end
  if redis.call('EXISTS', wake .. lane) == 0 then redis.call('LPUSH', wake .. lane, '1') elseif was_empty then redis.call('PERSIST', wake .. lane) end
end

-- remove_ready(ctx, wanted, numbers, there): remove the first numbers[i] tasks of each lane. A lane that still has tasks keeps
-- a wake-up token, for a worker that is free.
local function remove_ready(ctx, wanted, numbers, there) local ready = KEYS[11]
  for i, lane in ipairs(wanted) do
    local count = numbers[i] or 0
    if count > 0 then redis.call('ZREMRANGEBYRANK', ready .. lane, 0, count - 1) end
    if there[i] > count then
      push_wake(ctx, lane)
    elseif count > 0 then
      lane_emptied(ctx, lane)
    end
  end
end

-- write_lease(ctx, token, score, lane, tied, limited, traced, runs, fence, worker): an entry of `running`, as
-- read_lease reads it; runs is '<attempt> <delivery> <crashes>', limited: the limit keys, or ''; traced: the trace of
-- the task's enqueue, or nil.
-- EARLY
local function write_lease(ctx, token, score, lane, tied, limited, traced, runs, fence, worker)
  if limited ~= '' then limited = ' limits=' .. limited end
  if traced then limited = limited .. ' trace=' .. traced end
  return token .. ' ' .. score .. ' ' .. lane .. (tied and ' ties' or '') .. limited .. '|' .. ctx.now_text .. ' ' .. runs .. ' '
    .. fence .. ' ' .. worker
end

-- claim_tasks(ctx, wanted, limit, seen_ms): lease the next tasks of these lanes to the worker of this call, until the
-- reply would exceed 4 MiB, or it has met too many limits (ctx.met). A kind in ctx.alone is leased alone. seen_ms: when
-- the slot did its housekeeping last. Returns the deadline and the leases.
-- EARLY
local function claim_tasks(ctx, wanted, limit, seen_ms) local config, running, leases, task, worker_hash = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[20]
  if ctx.settings_mode == 'paused' then wanted = {} end
  local next_ids, scores, from, there = peek_ready(wanted, ctx.settings_limits > 0 and limit + 100 or limit)
  local fence = #next_ids > 0 and redis.call('HINCRBY', config, 'fence', #next_ids) - #next_ids or 0
  ctx.fence = fence
  local deadline_ms, deadline_text = ctx.now + ctx.lease_ms, string.format('%.0f', ctx.now + ctx.lease_ms)
  local token_start = incarnation .. '.' .. slot .. '.' .. n .. '/'
  local leased, ids, held, ending, taken, numbers, bytes, traces = {}, {}, {}, {}, {}, {}, 0, nil
  for i, id in ipairs(next_ids) do
    if #leased == limit or ctx.met > 500 + 5 * limit then break end
    if ctx.settings_limits > 0 then ctx.lane = wanted[from[i]] end
    local waits, limited = ctx.joins and ctx.joins[1] and not ctx.alone and arg_rare().joins_at_once(ctx, id, scores[i]), nil
    local record, failed, crashes, delivered, since_ms, size, tied, traced, stored
    if not waits then record, failed, crashes, delivered, since_ms, size, tied, traced, stored = read_task(id) end
    local alone = ctx.alone and arg_rare().comes_alone(ctx, record)
    if not waits and (alone or bytes + size > 4194304) and #leased > 0 then break end
    if ctx.settings_limits > 0 and since_ms then waits, limited = arg_rare().apply_limits(ctx, id, record, scores[i], tied) end
    numbers[from[i]] = (numbers[from[i]] or 0) + 1
    if not (waits or since_ms) then
      arg_rare().drop_task(ctx, id)
    elseif not waits and tied and arg_rare().start_tied(ctx, id, record) then
      redis.call('HSET', task .. id, 'reason', 'expired')
      arg_rare().move_to_dead(ctx, 'task.expired', id, 'expired', tied)
      for _, limit in ipairs(limited or {}) do ctx.spared[#ctx.spared + 1] = limit.key end
    elseif not waits then
      local at, attempt, delivery = #leased + 1, failed + 1, delivered + 1
      local token, runs = token_start .. at, delivery == 1 and '1 1 0' or attempt .. ' ' .. delivery .. ' ' .. crashes
      local holds = limited and arg_rare().hold_limits(ctx, id, limited, fence + i) or ''
      bytes, limit = bytes + size, alone and 1 or limit
      if traced and string.find(traced, '[^!-{}~]') then traced = nil end  -- it would not fit into an entry of `running`
      if traced then traces = traces or {}; traces[at] = traced end
      if stored then add_steps(record, id, stored) end
      ids[at], taken[at], leased[at] = id, i, { 'leased', id, token, fence + i, attempt, delivery, '', record }
      held[2 * at - 1], held[2 * at] = id, write_lease(ctx, token, scores[i], wanted[from[i]], tied, holds, traced, runs, fence + i, worker)
      ending[2 * at - 1], ending[2 * at] = deadline_text, id
      observe(ctx, 'wait_ms', ctx.now - since_ms)
    end
  end
  if ctx.settings_limits > 0 then arg_rare().write_limits(ctx) end
  remove_ready(ctx, wanted, numbers, there)
  on_take(ctx, wanted, from, scores, taken)
  redis.call('HSET', worker_hash .. worker, 'slot:' .. slot,
    n .. string.format(' %.0f ', seen_ms) .. table.concat(ids, ' '), 'busy',
    busy < 0 and '' or busy + #leased)
  if #leased == 0 then return deadline_ms, leased end
  if ctx.settings_timeout_ms > 0 then arg_rare().give_timeout(ctx, leased) end
  -- at most 2,000: two for each lease of a claim
  redis.call('ZADD', leases, unpack(ending))
  redis.call('HSET', running, unpack(held))
  ctx.trace = traces and arg_rare().join_traces(traces, #leased)
  emit(ctx, 'task.claimed', table.concat(ids, ' '),
    'worker=' .. worker .. ' fence=' .. leased[1][4] .. ' deadline_ms=' .. deadline_text)
  ctx.trace = nil
  for _, id in ipairs(add_payloads(leased)) do emit(ctx, 'task.alert', id, 'reason=payload_missing') end
  return deadline_ms, leased
end

-- on_close(ctx): generated from lua/queue/noun.toml: calls the hooks of chains.
local function on_close(ctx)
  if ctx.notes then arg_rare().chains_on_close(ctx) end
end

-- retain(ctx): after tasks have ended, delete the oldest ended tasks above the maximum number. trim_ended handles the
-- maximum age. A deletion has costs of its own, which single ends share: it waits for up to 100 finished tasks, at most a
-- twentieth of the maximum. Claims delete the rest once a second.
local function retain(ctx) local config, finished, dead = KEYS[1], KEYS[17], KEYS[18]
  ctx.work = math.max(ctx.work, 50) + 25 * (ctx.ended + (ctx.counts.dead or 0))  -- as many go as come, whatever they have
  local max = ctx.settings_finished_max
  if ctx.ended > 0 and redis.call('ZCARD', finished) > max + math.min(100, math.floor(max / 20)) then
    arg_rare().trim_set(ctx, finished, nil, max, 100 + ctx.ended)
  end
  if ctx.counts.dead then
    local max = tonumber(redis.call('HGET', config, 'dead_max') or 100000)
    arg_rare().trim_set(ctx, dead, nil, max, 100 + ctx.counts.dead)
  end
end

-- write_counts(ctx): add what this call has counted to the totals, once a call and not once a task. A number is added to its counter,
-- a table of buckets to one counter for each bucket, and the sum of its values to another.
local function write_counts(ctx) local counters = KEYS[41]
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

-- next_due(ctx, set): do what is due in a set, which is sorted by times (ms); the next time there, or MAX_SAFE. The noun has an
-- include move_due(ctx, set), which does a bounded part of it. If more is due, that time is over, and the next call goes on.
local function next_due(ctx, set)
  local head = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
  if head[1] and tonumber(head[2]) <= ctx.now then
    arg_rare().move_due(ctx, set)
    head = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
  end
  return tonumber(head[2] or MAX_SAFE)
end

-- on_claimed(ctx): generated from lua/queue/noun.toml: calls the hooks of limits.
local function on_claimed(ctx)
  if ctx.settings_limits > 0 then arg_rare().limits_on_claimed(ctx) end
end

-- open(clock, row): read what every call needs: the time, whether the base exists, and the settings that this script
-- uses as `ctx.settings_<name>`; or nil and the error to return. lua/tools/opening.py generates which settings these are,
-- and the first values of the fields of call.toml. clock: for a call that may create the base. row: the settings as they
-- are stored, if the caller has read them.
local function open(clock, row) local config = KEYS[1]
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'lease_ms', 'events_max', 'finished_max', 'result_ms', 'payload_ms', 'timeout_ms', 'fair', 'mode', 'chains', 'schedules', 'limits', 'fair_top')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_lease_ms = tonumber(row[3] or 15000), settings_events_max = tonumber(row[4] or 100000), settings_finished_max = tonumber(row[5] or 100000), settings_result_ms = tonumber(row[6]), settings_payload_ms = tonumber(row[7]), settings_timeout_ms = tonumber(row[8] or 0), settings_fair = tonumber(row[9] or 0), settings_mode = row[10], settings_chains = row[11] == '1', settings_schedules = row[12] == '1', settings_limits = tonumber(row[13] or 0), settings_fair_top = tonumber(row[14] or 0), counts = {}, ended = 0, work = 300, told = 0, next_ms = false, lease_ms = false, fence = false, limit = row[13] and {}, limited = row[13] and {}, in_line = row[13] and {}, joins = row[13] and {}, holds = row[13] and {}, victims = row[13] and {}, spared = row[13] and {}, timed = row[13] and {}, started = row[13] and {}, met = 0, steps = 100 }
end

-- sweep(ctx): process everything that is due: expired leases, deadlines, delayed tasks, notes of ends (at most 100
-- each) and limit queues (at most 40 + limit). Returns the next due time, without limit queues, or 0.
local function sweep(ctx) local leases, delayed, deadlines = KEYS[3], KEYS[14], KEYS[16]
  if ctx.settings_limits > 0 then ctx.steps = math.max(20, math.min(100, 40 + limit, ctx.steps)) end  -- less for few tasks, or after an ack that has opened lines
  local next_ms = next_due(ctx, leases)
  if redis.call('EXISTS', deadlines, delayed) > 0 then
    next_ms = math.min(next_ms, next_due(ctx, deadlines), next_due(ctx, delayed))
  end
  if ctx.settings_chains then next_ms = math.min(next_ms, arg_rare().next_end(ctx)) end
  if ctx.settings_limits > 0 then arg_rare().drain_due_limit_queues(ctx) end
  return next_ms < MAX_SAFE and next_ms or 0
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
local function answer_waiters(ctx, id, how, value) local config, reply, channel = KEYS[1], KEYS[10], KEYS[38]
  ctx.reply_ms = ctx.reply_ms or tonumber(redis.call('HGET', config, 'reply_ms') or 3600000)
  redis.call('SET', reply .. id, string.format('%.0f ', ctx.now + ctx.reply_ms) .. how .. '\n' .. value,
    'PX', string.format('%.0f', math.max(2 * ctx.reply_ms, 60000)))
  redis.pcall('SPUBLISH', channel .. id, how)
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
local function chains_on_end(ctx, id, own, how) local task = KEYS[4]
  redis.call('HDEL', task .. id, 'awaited', 'gathered')
  local well = how == 'completed' or how == 'result_dropped'
  note_end(ctx, well and 'c' or 'f', id, own.gathered and own.parent .. ' ' .. own.gathered, nil, not own.awaited)
end

-- holds_on_end(ctx, id, own): end what a task holds while it waits or runs: its deadline, its unique key and its scope.
-- READS unique scope expires_at_ms fallback_after_ms
-- WHEN own.unique or own.scope or own.expires_at_ms or own.fallback_after_ms
local function holds_on_end(ctx, id, own) local deadlines, once = KEYS[16], KEYS[22]
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
local function order_on_end(ctx, id, own) local order = KEYS[28]
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

-- cancel_task(ctx, id, tied, detail): end a task as cancelled; the caller has taken it out of the set it was in.
-- EARLY
local function cancel_task(ctx, id, tied, detail) local task, finished = KEYS[4], KEYS[17]
  if tied then on_end(ctx, id, 'cancelled', '') end
  redis.call('HSET', task .. id, 'cancelled_ms', ctx.now_text)
  redis.call('ZADD', finished, ctx.now, id)
  emit(ctx, 'task.cancelled', id, detail or '')
  add_count(ctx, 'cancelled', 1)
  ctx.ended = ctx.ended + 1
end

-- read_rates(limited): read the rates of these limits in one command. room_left would read one at a time.
local function read_rates(limited) local rates = KEYS[35]
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
local function room_left(ctx, limit) local holding, rates = KEYS[32], KEYS[35]
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

-- find_full(ctx, limited): the first of these limits that is full now, and the score of its queue in limit_lines; nil
-- if none is full.
local function find_full(ctx, limited)
  if limited.rated then read_rates(limited) end
  for _, limit in ipairs(limited) do
    local room, recheck_at_ms = room_left(ctx, limit)
    if room == 0 then return limit, recheck_at_ms end
  end
end

-- join_limit(ctx, id, score, limit, recheck_at_ms, tied): put a task into the queue of a limit, by its place.
-- recheck_at_ms: the new score of the queue in limit_lines, unless it is due earlier. The task may still expire. Its
-- fallback timer stops while it waits for the limit. write_joins stores where it waits.
local function join_limit(ctx, id, score, limit, recheck_at_ms, tied) local task, deadlines = KEYS[4], KEYS[16]
  local line = ctx.joins[limit.key]
  if not line then
    line = { due_ms = recheck_at_ms, rows = {} }
    ctx.joins[limit.key], ctx.joins[#ctx.joins + 1] = line, limit.key
  end
  line.due_ms = math.min(line.due_ms, recheck_at_ms)
  local rows, at = line.rows, #line.rows
  rows[at + 1], rows[at + 2] = score, id
  redis.call('HSET', task .. id, 'limited_by', limit.key)
  ctx.in_line[limit.key] = true
  if ctx.lane and recheck_at_ms < BAND then ctx.timed[ctx.lane] = true end
  if not tied then return end
  local own = redis.call('HMGET', task .. id, 'expires_at_ms', 'deliveries')
  redis.call('ZREM', deadlines, id)
  if own[1] and not own[2] then redis.call('ZADD', deadlines, own[1], id) end
end

-- read_limits(ctx, keys): the limits for these keys: each has its own, or that of its kind (`user:*`). A rule is stored
-- as '<concurrency> <policy> <interval_ms> <burst>', with 0 for not limited. Each limit is one table per call (cached
-- in ctx.limit). room_left adds `held` and `next_ms` to it.
local function read_limits(ctx, keys) local limits = KEYS[31]
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

-- limits_of(ctx, user, tags, words): the limits that apply to a task: `all`, its user, its tags, its limit keys. tags,
-- words: separated by commas, or ''. held_as: the keys that a lease holds. rated: some limits have rates.
local function limits_of(ctx, user, tags, words)
  local known = user .. ' ' .. tags .. ' ' .. words
  if not ctx.limited[known] then
    local keys, seen = { 'all' }, {}
    for i, list in ipairs({ user, tags, words }) do
      for word in string.gmatch(list, '[^,]+') do
        local key = ({ 'user:', 'tag:', 'key:' })[i] .. word
        if not seen[key] then keys[#keys + 1], seen[key] = key, true end
      end
    end
    local limited, held = read_limits(ctx, keys), {}
    for _, limit in ipairs(limited) do
      if limit.most then held[#held + 1] = limit.key end
      limited.rated = limited.rated or limit.interval_ms
    end
    ctx.limited[known], limited.held_as = limited, table.concat(held, ',')
  end
  return ctx.limited[known]
end

-- mend_holders(ctx, key): forget holders of a limit that have no lease, as an evicting server leaves them: one page of
-- 100 a minute. Tasks that this claim leases have no lease yet; their fences are above ctx.fence.
local function mend_holders(ctx, key) local leases, holding = KEYS[3], KEYS[32]
  local upto = ctx.fence and string.format('%.0f', ctx.fence) or '+inf'
  local pages = math.max(1, math.ceil(redis.call('ZCOUNT', holding .. key, '-inf', upto) / 100))
  local from = math.floor(ctx.now / 60000) % pages * 100
  local ids = redis.call('ZRANGE', holding .. key, '-inf', upto, 'BYSCORE', 'LIMIT', from, 100)
  local deadlines_ms = ids[1] and redis.call('ZMSCORE', leases, unpack(ids)) or {}  -- at most 100: a page
  for i, id in ipairs(ids) do
    if not deadlines_ms[i] then redis.call('ZREM', holding .. key, id) end
  end
end

-- move_to_dead(ctx, event, id, reason, tied, error, shown): move a task to the dead set. The caller has removed it from
-- its set, and writes the reason and the error into the record. shown: further words of the event, or nil.
local function move_to_dead(ctx, event, id, reason, tied, error, shown) local dead = KEYS[18]
  if tied then on_end(ctx, id, 'dead ' .. reason, error or '') end
  redis.call('ZADD', dead, ctx.now, id)
  emit(ctx, event, id, 'reason=' .. reason .. (shown or ''))
  add_count(ctx, 'dead', 1)
end

-- preempt_oldest(ctx, limit): choose which task a new task of a full limit replaces: the oldest running task that no
-- waiting task replaces already, or else the first waiting task. on_claimed cancels it, because this claim has not
-- written its own leases yet.
local function preempt_oldest(ctx, limit) local blocked, holding, waiting = KEYS[15], KEYS[32], KEYS[33]
  local lined = redis.call('ZCARD', waiting .. limit.key)
  if lined < limit.most then
    local oldest = redis.call('ZRANGE', holding .. limit.key, lined, lined)[1]
    ctx.victims[#ctx.victims + 1] = oldest
    return
  end
  for _ = 1, 100 do
    local first = redis.call('ZPOPMIN', waiting .. limit.key)
    if not first[1] then return end
    if redis.call('ZSCORE', blocked, first[1]) == first[2] then
      ctx.victims[#ctx.victims + 1] = first[1]
      return
    end
  end
end

-- spare_others(ctx, limited, full): note the limits of a task that do not let it start because another one is full: it may
-- have been let go for them, and another task may start instead.
local function spare_others(ctx, limited, full)
  for _, other in ipairs(limited) do
    if other ~= full then ctx.spared[#ctx.spared + 1] = other.key end
  end
end

-- write_joins(ctx, told): store which tasks have joined which limit queues since the last time. told: one event for each
-- queue says so.
local function write_joins(ctx, told) local blocked, waiting, limit_lines = KEYS[15], KEYS[33], KEYS[34]
  local all, looks = {}, {}
  for i, key in ipairs(ctx.joins) do
    local rows, ids = ctx.joins[key].rows, {}
    for at = 1, #rows, 2 do
      all[#all + 1], all[#all + 2], ids[#ids + 1] = rows[at], rows[at + 1], rows[at + 1]
    end
    redis.call('ZADD', waiting .. key, unpack(rows))  -- at most 2,200: two for each task of a call, or that a claim looks at
    if told then emit(ctx, 'task.limited', table.concat(ids, ' '), 'limit=' .. key) end
    looks[2 * i - 1], looks[2 * i] = ctx.joins[key].due_ms, key
  end
  -- at most 2,200: as above
  redis.call('ZADD', blocked, unpack(all))
  redis.call('ZADD', limit_lines, 'LT', unpack(looks))
  ctx.joins = {}
end

-- write_limits(ctx): store what this claim has found out about limits so far: which tasks hold them, and which wait.
local function write_limits(ctx) local holding = KEYS[32]
  for key, rows in pairs(ctx.holds) do redis.call('ZADD', holding .. key, unpack(rows)) end  -- at most 2,000: two for each lease
  ctx.holds = {}
  if ctx.joins[1] then write_joins(ctx, true) end
end

-- apply_limits(ctx, id, record, score, tied): check the limits of a task at its claim. If one is full, put the task
-- into its queue, or end it, by the policy, and return true. Otherwise return false and the limits that the task will
-- hold. ctx.met counts all limits.
local function apply_limits(ctx, id, record, score, tied) local task = KEYS[4]
  local user, tags, words = '', '', ''
  for f = 1, #record, 2 do
    local name = record[f]
    if name == 'user' then user = record[f + 1]
    elseif name == 'tags' then tags = record[f + 1]
    elseif name == 'limits' then words = record[f + 1]
    end
  end
  local limited = limits_of(ctx, user, tags, words)
  ctx.met = ctx.met + #limited
  local full, recheck_at_ms = find_full(ctx, limited)
  if full and full.policy ~= 'queue' then write_limits(ctx) end  -- what follows reads it
  -- A task that would end for others that run, while these may have been lost: a line is mended in time, but these have none.
  -- at most 26: each limit of a task once
  while full and full.policy ~= 'queue' and full.policy ~= 'cancel_oldest' and full.most and full.held >= full.most
    and not full.mended do
    mend_holders(ctx, full.key)
    full.mended, full.held = true, nil
    full, recheck_at_ms = find_full(ctx, limited)
  end
  if not full then return false, limited end
  if full.policy == 'reject' then
    redis.call('HSET', task .. id, 'reason', 'limited')
    move_to_dead(ctx, 'task.dead', id, 'limited', tied)
  elseif full.policy == 'cancel_newest' then
    cancel_task(ctx, id, tied)
  else
    if full.policy == 'cancel_oldest' and full.held >= full.most then preempt_oldest(ctx, full) end
    join_limit(ctx, id, score, full, recheck_at_ms, tied)
  end
  spare_others(ctx, limited, full)
  return true
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

-- backoff(own, all, n, jitter_ppm): ms before retry n, by the policy of the task, of the queue, or the defaults;
-- jitter_ppm 0..1000000 comes from the caller, 500000 is none.
local function backoff(own, all, n, jitter_ppm)
  local base = tonumber(own[2] or all[2] or 1000)
  local multiplier = tonumber(own[3] or all[3] or 200) / 100
  local cap = tonumber(own[4] or all[4] or 300000)
  local jitter = tonumber(own[5] or all[5] or 10) / 100
  -- The power is bounded, because infinity × 0 is not a number.
  local delay = math.min(base * math.min(multiplier ^ (n - 1), 1e12), cap)
  return math.floor(math.min(delay * (1 + jitter * (jitter_ppm / 500000 - 1)), cap))
end

-- find_set(id, record): the set that a task is in, and its score there; nil if it is in none or has no record.
local function find_set(id, record) local leases, ready, delayed, blocked, finished, dead = KEYS[3], KEYS[11], KEYS[14], KEYS[15], KEYS[17], KEYS[18]
  if not record then return nil end
  for _, set in ipairs({ ready .. (record.lane or 'any'), leases, finished, delayed, dead, blocked }) do
    local score = redis.call('ZSCORE', set, id)
    if score then return set, score end
  end
end

-- leave_line(id, key): remove a task from a limit queue. If the queue is then empty, remove it from limit_lines.
local function leave_line(id, key) local task, waiting, limit_lines = KEYS[4], KEYS[33], KEYS[34]
  redis.call('HDEL', task .. id, 'limited_by')
  redis.call('ZREM', waiting .. key, id)
  if redis.call('EXISTS', waiting .. key) == 0 then redis.call('ZREM', limit_lines, key) end
end

-- push_control(ctx, name): leave a wake-up for a worker. It expires if no worker waits for it.
local function push_control(ctx, name) local control = KEYS[21]
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
local function cancel_children(ctx, id, last_id, last_score, stamp, limit) local task, children = KEYS[4], KEYS[26]
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

-- make_ready(ctx, by_lane): put tasks into their lanes and wake a worker for each lane. by_lane[lane] = { score, id,
-- score, id, … } (line_up). The shares of a lane with waiting tasks do not expire.
local function make_ready(ctx, by_lane) local ready, lanes, shares = KEYS[11], KEYS[12], KEYS[37]
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
local function store_notes(ctx) local ends = KEYS[29]
  local rows = {}
  for i, note in ipairs(ctx.notes or {}) do rows[2 * i - 1], rows[2 * i] = ctx.now_text, note end
  for first = 1, #rows, 7000 do redis.call('ZADD', ends, unpack(rows, first, math.min(first + 6999, #rows))) end
  ctx.notes = nil
end

-- read_notes(ctx, limit): the oldest notes that are stored, with their times, at most limit, and whether there are any. If
-- so, those of this call are stored, too, to get their turn. As a rule there are none: the notes of a call are carried
-- out without being stored.
local function read_notes(ctx, limit) local ends = KEYS[29]
  local stored = redis.call('ZRANGE', ends, 0, limit - 1, 'WITHSCORES')
  if stored[1] and ctx.notes then
    store_notes(ctx)
    stored = redis.call('ZRANGE', ends, 0, limit - 1, 'WITHSCORES')
  end
  return stored, stored[1] ~= nil
end

-- delay_until(ctx, due_ms, id, lane): make a task delayed until due_ms. If that is within 10 s, wake a worker of the
-- lane.
local function delay_until(ctx, due_ms, id, lane) local delayed = KEYS[14]
  redis.call('ZADD', delayed, due_ms, id)
  if due_ms - ctx.now < 10000 then push_due(lane) end
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

-- share_place(ctx, lane, user, band): the place of a user's next task with fair shares: the place claimed last in this
-- lane and band, or the end of the user's previous task if that is later. A task of a user with weight 100 % lasts
-- 1,000. config.fair_top is kept above all places, for the case that fair shares are switched off.
local function share_place(ctx, lane, user, band) local config, weights, shares = KEYS[1], KEYS[36], KEYS[37]
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
local function propagate_ends(ctx, limit) local dependents, ends = KEYS[27], KEYS[29]
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
local function chains_on_close(ctx) local ends = KEYS[29]
  local left = 100 - ctx.told
  local all = left > 0 and propagate_ends(ctx, left) < left
  store_notes(ctx)
  if ctx.next_ms and not all and redis.call('EXISTS', ends) == 1 then ctx.next_ms = ctx.now end
end

-- chains_on_drop(ctx, id): tell the tasks that wait for this one that it has failed.
-- WHEN ctx.settings_chains
local function chains_on_drop(ctx, id) local dependents = KEYS[27]
  if redis.call('EXISTS', dependents .. id) == 1 then note_end(ctx, 'f', id) end
end

-- comes_alone(ctx, record): whether a task is of one of the kinds that this call leases alone.
local function comes_alone(ctx, record)
  for f = 1, #record, 2 do
    if record[f] == 'kind' then return ctx.alone[record[f + 1]] end
  end
end

-- count_existing(keys): how many of these keys exist.
local function count_existing(keys)
  local found = 0
  for first = 1, #keys, 7000 do found = found + redis.call('EXISTS', unpack(keys, first, math.min(first + 6999, #keys))) end
  return found
end

-- describe_death(ctx, attempt, error, hidden): what the event of a dead task says of its last run: its number, and the
-- end of the error as a percent-encoded word, as long as the settings allow. A hidden error is left out: it is sealed,
-- or that of a restricted task.
local function describe_death(ctx, attempt, error, hidden) local config = KEYS[1]
  local words = ' attempts=' .. attempt
  if error == '' or hidden or ctx.settings_events_max == 0 then return words end
  ctx.error_max = ctx.error_max or tonumber(redis.call('HGET', config, 'events_error_max') or 200)
  if ctx.error_max == 0 then return words end
  local shown = string.gsub(string.sub(error, -ctx.error_max), '^[\128-\191]+', '')  -- not from the middle of a character
  return words .. ' error=' .. string.gsub(shown, '[^%w._:/@+-]', function(one) return string.format('%%%02X', string.byte(one)) end)
end

-- drain_limit_queue(ctx, key, line, batch): let the first tasks in the queue of a limit return to their lanes: as many
-- as may start now, at most 100. line: what peek_lines read. The results go into the batch: tasks that become ready,
-- tasks that are no longer blocked, the queue's next score, and queues that end. The score of a queue in limit_lines: a
-- time at which to look again; negative: at once, and score + BAND is since when; from BAND on: wait for the end of a
-- lease, because the limit was full at score - BAND.
local function drain_limit_queue(ctx, key, line, batch) local task, waiting = KEYS[4], KEYS[33]
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

-- read_line(line, key, more): read the first tasks of a limit queue: as many as may start, and some more.
local function read_line(line, key, more) local waiting = KEYS[33]
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
local function drain_limit_queues(ctx, keys, again) local blocked, deadlines, limit_lines = KEYS[15], KEYS[16], KEYS[34]
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

-- drain_due_limit_queues(ctx): process limit queues that are due, and queues that were full before a `*` limit was
-- changed: usually 100, at most 140. ctx.lines_left: there may be more.
local function drain_due_limit_queues(ctx) local limit_lines = KEYS[34]
  local due = redis.call('ZRANGE', limit_lines, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, 100, 'WITHSCORES')
  local fresh, again = {}, {}
  for i = 1, #due, 2 do table.insert(tonumber(due[i + 1]) < 0 and fresh or again, due[i]) end
  if #fresh == 100 then again = redis.call('ZRANGE', limit_lines, 0, ctx.now, 'BYSCORE', 'LIMIT', 0, 20) end  -- their turn has come, too
  local more, left = 100 - #due / 2, #due == 200
  if ctx.settings_limits > 1 then
    more = math.max(more, 20)  -- take at least 20, so that due queues cannot starve them
    due = redis.call('ZRANGE', limit_lines, BAND, BAND + ctx.settings_limits, 'BYSCORE', 'LIMIT', 0, more)
    for i, key in ipairs(due) do fresh[#fresh + 1], more = key, more - 1 end
  end
  ctx.lines_left = left or more == 0
  if again[1] then drain_limit_queues(ctx, again, true) end
  ctx.steps = math.max(ctx.steps, 20)  -- keep at least 20 steps for the queues in `fresh`
  if fresh[1] then drain_limit_queues(ctx, fresh) end
end

-- drop_payloads(ctx, ids): delete the payloads of completed tasks, at once or after payload_ms.
-- LATE
local function drop_payloads(ctx, ids) local payload = KEYS[5]
  local keys = {}
  for i, id in ipairs(ids) do keys[i] = payload .. id end
  if ctx.settings_payload_ms == 0 then
    redis.call('DEL', unpack(keys))  -- at most 1,000: items
  else
    local text = string.format('%.0f', ctx.settings_payload_ms)
    for _, key in ipairs(keys) do redis.call('PEXPIRE', key, text) end
  end
end

-- on_drop(ctx, id): generated from lua/queue/noun.toml: calls the hooks of chains.
local function on_drop(ctx, id)
  if ctx.settings_chains then chains_on_drop(ctx, id) end
end

-- drop_task(ctx, id): delete the other keys of a task whose record was evicted, and write an alert event.
local function drop_task(ctx, id) local task, payload, log, ended_runs, steps = KEYS[4], KEYS[5], KEYS[7], KEYS[8], KEYS[9]
  on_drop(ctx, id)
  redis.call('DEL', task .. id, payload .. id, log .. id, ended_runs .. id, steps .. id)
  emit(ctx, 'task.alert', id, 'reason=record_missing')
end

-- error_end(error, sealed): the last 1,024 bytes of an error, because the end of a traceback says what went wrong. A sealed
-- error cannot be cut: a longer one is left out.
local function error_end(error, sealed)
  if #error <= 1024 then return error end
  if sealed then return '' end
  return (string.gsub(string.sub(error, -1024), '^[\128-\191]?[\128-\191]?[\128-\191]?', ''))  -- not from the middle of a character
end

-- next_lane(ctx, id, record): move a task that no worker has taken to the next of its fallback lanes. Returns the lane.
local function next_lane(ctx, id, record) local task = KEYS[4]
  local lane, rest = string.match(record.fallback, '^([^,]+),?(.*)$')
  redis.call('HSET', task .. id, 'lane', lane, 'fallback', rest)
  local timer = record.unclaimed ~= 'fail' and 'fallback_after_ms' or nil
  if rest == '' then redis.call('HDEL', unpack({ task .. id, 'fallback', timer })) end  -- at most 3: the table beside it
  emit(ctx, 'task.moved', id, 'lane=' .. lane)
  return lane
end

-- expire_waiting(ctx, limit): handle waiting tasks whose deadline has come, at most limit and as many as ctx.work
-- allows. A task that expires goes to the dead set. A task that no worker has taken goes to its next lane, at its old
-- place, or from its last lane to the dead set, but not while the queue is paused. Returns how many. If a task does not
-- wait any more, only its deadline is removed: an older version left it.
local function expire_waiting(ctx, limit) local leases, task, ready, deadlines, finished, dead = KEYS[3], KEYS[4], KEYS[11], KEYS[16], KEYS[17], KEYS[18]
  local ids, by_lane = redis.call('ZRANGE', deadlines, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, limit), {}
  if #ids == 0 then return 0 end
  local records = {}
  for i = 1, #ids do
    if ctx.work <= 0 then
      ids[i] = nil
    else
      records[i] = read_record(ids[i]) or false
      local own = records[i] or {}
      ctx.work = ctx.work - 8 - ((own.unique or own.scope or own.reply or own.awaited) and 12 or 0)
    end
  end
  redis.call('ZREM', deadlines, unpack(ids))  -- at most 1,000: limit
  for i, id in ipairs(ids) do
    local record = records[i]
    local set, score = find_set(id, record)
    if not record then
      drop_task(ctx, id)
    elseif set and set ~= leases and set ~= finished and set ~= dead then
      local lane = record.lane or 'any'
      local in_line = set == ready .. lane
      local expired = not record.deliveries and tonumber(record.expires_at_ms or MAX_SAFE) <= ctx.now
      local last = record.unclaimed == 'fail' and not record.fallback and ctx.settings_mode ~= 'paused'
      local reason = expired and 'expired' or last and 'nobody_came'
      if reason or (in_line and record.fallback) then
        redis.call('ZREM', set, id)
        if in_line and redis.call('EXISTS', set) == 0 then lane_emptied(ctx, lane) end
      end
      if reason then
        if record.limited_by then leave_line(id, record.limited_by) end
        redis.call('HSET', task .. id, 'reason', reason)
        if record.error then redis.call('HDEL', task .. id, 'error', 'exit_code') end
        move_to_dead(ctx, expired and 'task.expired' or 'task.dead', id, reason, true)
      else
        local to = record.fallback and next_lane(ctx, id, record)
        if to and in_line then
          local band = math.floor(score / BAND)
          if ctx.settings_fair > 0 then score = band * BAND + share_place(ctx, to, record.user or '', band) end
          line_up(by_lane, to, score, id)
        end
        await_deadline(ctx, id, ctx.settings_mode == 'paused' and ctx.now + 1000 or ctx.now)  -- in a pause, look again after 1 s
      end
    end
  end
  make_ready(ctx, by_lane)
  return #ids
end

-- note_run(ctx, id, ran, outcome, reason, error): keep how a run of a task has ended that did not complete it, for `runs`.
-- The last 20 are kept. reason and error may be empty.
local function note_run(ctx, id, ran, outcome, reason, error) local ended_runs = KEYS[8]
  local entry = ran .. ' ' .. ctx.now_text .. ' ' .. outcome .. ' ' .. reason .. ' ' .. error
  if redis.call('RPUSH', ended_runs .. id, entry) > 20 then redis.call('LTRIM', ended_runs .. id, -20, -1) end
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

-- read_policy(key): the retry settings and the data tier of a record, or of the queue's config; false for each value that is not set.
local function read_policy(key)
  return redis.call('HMGET', key, 'max_attempts', 'backoff_base_ms', 'backoff_multiplier_pct', 'backoff_cap_ms',
    'jitter_pct', 'max_crashes', 'tier')
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

-- fail_tasks(ctx, fails): end attempts that went wrong; fails is a table of lists id, token, retryable,
-- reason, error, jitter_ppm, pairs. One answer each: retried with the due time, dead, cancelled, lease_lost.
local function fail_tasks(ctx, fails) local config, running, task, deadlines = KEYS[1], KEYS[2], KEYS[4], KEYS[16]
  local answers, ended, due = {}, {}, {}
  local held = redis.call('HMGET', running, unpack(fails.id))  -- at most 1,000: items
  local all = read_policy(config)
  for i, id in ipairs(fails.id) do
    local token, lease, reason, extra = fails.token[i], read_lease(held[i]), fails.reason[i], fails.pairs[i]
    if not lease or lease.token ~= token or ended[id] then
      answers[i] = settled_before(id, token, { retried = true, dead = true, cancelled = true })
    else
      ended[#ended + 1], ended[id], ctx.trace = id, true, lease.trace
      local own = read_policy(task .. id)
      if lease.cancelling then
        answers[i] = { 'cancelled' }
        cancel_task(ctx, id, lease.tied)
      elseif fails.retryable[i] and lease.attempt < tonumber(own[1] or all[1] or 3) then
        local due_ms = ctx.now + (extra.delay_ms or backoff(own, all, lease.attempt, fails.jitter_ppm[i]))
        answers[i] = { 'retried', due_ms }
        delay_until(ctx, due_ms, id, lease.lane)
        emit(ctx, 'task.retried', id, string.format('attempt=%d due_ms=%.0f', lease.attempt, due_ms))
        add_count(ctx, 'retried', 1)
        if extra.timeout_ms then redis.call('HSET', task .. id, 'timeout_ms', extra.timeout_ms, 'ties', '1') end
      else
        answers[i] = { 'dead' }
        local shown = describe_death(ctx, lease.attempt, fails.error[i], extra.sealed or own[7] == 'restricted')
        move_to_dead(ctx, 'task.dead', id, reason, lease.tied, fails.error[i], shown)
      end
      note_run(ctx, id, lease.ran, lease.cancelling and 'cancelled' or 'failed', reason, error_end(fails.error[i], extra.sealed))
      redis.call('HSET', task .. id, 'ran', lease.ran, 'attempts', lease.attempt, 'deliveries', lease.delivery,
        'reason', reason, 'error', fails.error[i], 'settled', settled_as(token, answers[i]),
        extra.run_trace and 'run_trace' or 'reason', extra.run_trace or reason)  -- without one, the reason again
      if extra.exit_code then
        redis.call('HSET', task .. id, 'exit_code', extra.exit_code)
      elseif lease.delivery > 1 then
        redis.call('HDEL', task .. id, 'exit_code')
      end
      if extra.alert then emit(ctx, 'task.alert', id, 'reason=' .. reason) end
      if lease.tied and answers[i][2] then await_deadline(ctx, id, answers[i][2], due) end
    end
  end
  ctx.trace = nil
  if due[1] then redis.call('ZADD', deadlines, unpack(due)) end  -- at most 2,000: two for each item
  end_leases(ctx, ended)
  return answers
end

-- fair_on_housekeep(ctx, wanted): forget the users whose last task in one of these lanes has been claimed, at most 100
-- per priority band. Their next task is placed like that of a new user. If there are more than eight lanes, each second
-- handles the next eight.
-- WHEN ctx.settings_fair > 0
local function fair_on_housekeep(ctx, wanted) local shares = KEYS[37]
  local first = #wanted > 8 and 8 * math.floor(ctx.now / 1000) or 0
  for at = first, first + math.min(#wanted, 8) - 1 do
    local lane = wanted[at % #wanted + 1]
    local claimed = redis.call('ZMSCORE', shares .. lane, '0 claimed', '1 claimed', '2 claimed', '3 claimed', '4 claimed',
      '5 claimed', '6 claimed', '7 claimed', '8 claimed', '9 claimed')
    for band = 0, 9 do
      local upto = claimed[band + 1]
      local over = upto and redis.call('ZRANGE', shares .. lane, string.format('%.0f', band * BAND), '(' .. upto, 'BYSCORE',
        'LIMIT', 0, 100) or {}
      if #over > 0 then redis.call('ZREM', shares .. lane, unpack(over)) end  -- at most 100: as read above
    end
  end
end

-- fair_on_take(ctx, wanted, from, scores, taken): store, for each lane and priority band, the highest place that was
-- claimed (the virtual time). taken: the indexes of the claimed tasks in the lists of peek_ready. A lane that stays
-- empty for a day is forgotten.
-- WHEN ctx.settings_fair > 0
local function fair_on_take(ctx, wanted, from, scores, taken) local ready, shares = KEYS[11], KEYS[37]
  local highest = {}
  for _, i in ipairs(taken) do
    local lane, band = wanted[from[i]], math.floor(scores[i] / BAND)
    highest[lane] = highest[lane] or {}
    highest[lane][band] = math.max(highest[lane][band] or 0, scores[i])
  end
  for lane, bands in pairs(highest) do
    for band, score in pairs(bands) do
      redis.call('ZADD', shares .. lane, 'GT', string.format('%.0f', score), band .. ' claimed')
    end
    if redis.call('EXISTS', ready .. lane) == 0 then redis.call('EXPIRE', shares .. lane, ctx.settings_limits > 0 and 2592000 or 86400) end  -- where this made it
  end
end

-- first_due(page, limit): choose which of the tasks that are due at the same time are promoted, at most limit, if some
-- of them crashed again: those keep the order that they had when they were leased, behind the others. Looks at 1,000.
-- nil if none crashed again.
local function first_due(page, limit) local config, task, delayed = KEYS[1], KEYS[4], KEYS[14]
  local last = page[2 * limit]
  if tonumber(redis.call('HGET', config, 'crashed_due_ms') or 0) < tonumber(page[2]) then return nil end
  if page[2 * limit + 2] == last then page = redis.call('ZRANGE', delayed, '-inf', last, 'BYSCORE', 'LIMIT', 0, 1000, 'WITHSCORES') end
  local ids, due, place, first = {}, {}, {}, {}
  for i = 1, #page, 2 do
    local id = page[i]
    local at_ms, score = string.match(redis.call('HGET', task .. id, 'stood') or '', '^(%d+) (%d+)$')
    ids[#ids + 1], due[id] = id, tonumber(page[i + 1])
    place[id] = at_ms == page[i + 1] and tonumber(score) or 0
  end
  table.sort(ids, function(a, b)
    if due[a] ~= due[b] then return due[a] < due[b] end
    if place[a] ~= place[b] then return place[a] < place[b] end
    return a < b
  end)
  for i = 1, limit do first[i] = ids[i] end
  return first
end

-- first_leases(ctx, limit): choose which expired leases a sweep takes back, if there are more than limit: by deadline,
-- then by the places of their tasks, not by id. Looks at 1,000.
local function first_leases(ctx, limit) local running, leases = KEYS[2], KEYS[3]
  local page = redis.call('ZRANGE', leases, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, 1000, 'WITHSCORES')
  local ids, due, place, first = {}, {}, {}, {}
  for i = 1, #page, 2 do
    ids[#ids + 1] = page[i]
    due[page[i]] = tonumber(page[i + 1])
  end
  local held = redis.call('HMGET', running, unpack(ids))  -- at most 1,000: the page
  for i, id in ipairs(ids) do place[id] = tonumber(string.match(held[i] or '', '^%S+ (%d+)') or 0) end
  table.sort(ids, function(a, b)
    if due[a] ~= due[b] then return due[a] < due[b] end
    if place[a] ~= place[b] then return place[a] < place[b] end
    return a < b
  end)
  for i = 1, limit do first[i] = ids[i] end
  return first
end

-- give_timeout(ctx, leased): add the queue's timeout to the record of each lease whose task has no own timeout.
local function give_timeout(ctx, leased)
  for _, lease in ipairs(leased) do
    local record, own = lease[8], false
    for f = 1, #record, 2 do own = own or record[f] == 'timeout_ms' end
    if not own then
      record[#record + 1] = 'timeout_ms'
      record[#record + 1] = string.format('%.0f', ctx.settings_timeout_ms)
    end
  end
end

-- has_other_result(ctx, id, token, value, first): whether the task that this token completed has another result than
-- this one. first: the result that it got in this call, or nil. If its result was not kept, or is gone, the answer is
-- false. It does not read more bytes than were sent.
local function has_other_result(ctx, id, token, value, first) local task, result = KEYS[4], KEYS[6]
  local row = redis.call('HMGET', task .. id, 'created_ms', 'result_ms', 'settled')
  if not row[1] or string.find(row[3] or '', token .. ' ', 1, true) ~= 1 then return false end  -- an older task of this id
  if first then return first ~= value end
  local length = redis.call('STRLEN', result .. id)
  if length == 0 then return value ~= '' and not row[2] and not ctx.settings_result_ms end
  return length ~= #value or redis.call('GET', result .. id) ~= value
end

-- have_children(ids): whether some of these tasks have children.
local function have_children(ids) local children = KEYS[26]
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

-- take_snapshot(ctx): add the totals and the numbers of tasks to the minutes of the history, and the first of an hour also to its
-- hours. ctx.history_ms is the minute of the last snapshot.
local function take_snapshot(ctx) local config, leases, ready, lanes, delayed, blocked, dead, workers, history, counters = KEYS[1], KEYS[3], KEYS[11], KEYS[12], KEYS[14], KEYS[15], KEYS[18], KEYS[19], KEYS[39], KEYS[41]
  local minute_ms = ctx.now - ctx.now % 60000
  -- at most 200: totals and buckets
  local totals, found = redis.call('HGETALL', counters), { claimed = 0, completed = 0 }
  for i = 1, #totals, 2 do
    local what = string.match(totals[i], '^(%l+)_ms:')
    if what == 'wait' then found.claimed = found.claimed + totals[i + 1]
    elseif what == 'run' then found.completed = found.completed + totals[i + 1]
    else found[totals[i]] = totals[i + 1]
    end
  end
  local names, in_line, numbers = redis.call('SRANDMEMBER', lanes, 201), 0, { string.format('%.0f', minute_ms) }
  for i = 1, #names <= 200 and #names or 0 do in_line = in_line + redis.call('ZCARD', ready .. names[i]) end
  for _, name in ipairs({ 'enqueued', 'claimed', 'completed', 'retried', 'dead', 'cancelled', 'stalled', 'wait_ms_sum', 'run_ms_sum' }) do
    numbers[#numbers + 1] = string.format('%.0f', found[name] or 0)
  end
  numbers[#numbers + 1] = #names <= 200 and in_line or -1
  for _, set in ipairs({ delayed, blocked, leases, dead, workers }) do numbers[#numbers + 1] = redis.call('ZCARD', set) end
  local text = table.concat(numbers, ' ')
  redis.call('RPUSH', history .. 'minutes', text)
  redis.call('LTRIM', history .. 'minutes', -1440, -1)
  if math.floor(minute_ms / 3600000) ~= math.floor(ctx.history_ms / 3600000) then
    redis.call('RPUSH', history .. 'hours', text)
    redis.call('LTRIM', history .. 'hours', -720, -1)
  end
  redis.call('HSET', config, 'history_ms', string.format('%.0f', minute_ms))
end

-- history_on_housekeep(ctx): take the snapshot of this minute, if there is none yet. One that is an hour ahead is of a clock that was set back.
-- WHEN ctx.now >= ctx.history_ms + 60000 or ctx.now < ctx.history_ms - 3600000
local function history_on_housekeep(ctx)
  take_snapshot(ctx)
end

-- hold_limits(ctx, id, limited, fence): count a task that starts in its concurrency limits, until its lease ends, and
-- in its rates (note_starts and write_limits store them). Returns the keys of the concurrency limits, for the lease.
local function hold_limits(ctx, id, limited, fence)
  for _, limit in ipairs(limited) do
    if limit.most then
      local rows = ctx.holds[limit.key] or {}
      rows[#rows + 1], rows[#rows + 2], ctx.holds[limit.key] = fence, id, rows
      limit.held = limit.held + 1
    end
    if limit.interval_ms then
      ctx.timed[ctx.lane] = true
      limit.next_ms = limit.next_ms + limit.interval_ms
      if not limit.started then ctx.started[#ctx.started + 1], limit.started = limit, true end
    end
  end
  return limited.held_as
end

-- limits_on_housekeep(ctx): forget rates that let a full burst start by now, 100 of them. Then look at 25 lines whose limit was
-- full a minute ago, although the end of a lease opens them: holders without a lease, as an evicting server leaves them, are
-- forgotten, and so are tasks that are not blocked, as older versions of these scripts left them.
-- WHEN ctx.settings_limits > 0
local function limits_on_housekeep(ctx) local blocked, waiting, limit_lines, rates = KEYS[15], KEYS[33], KEYS[34], KEYS[35]
  local over = redis.call('ZRANGE', rates, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, 100)
  if #over > 0 then redis.call('ZREM', rates, unpack(over)) end  -- at most 100: as read above
  local keys = redis.call('ZRANGE', limit_lines, BAND, BAND + ctx.now - 60000, 'BYSCORE', 'LIMIT', 0, 25)
  for _, key in ipairs(keys) do
    mend_holders(ctx, key)
    local ids = redis.call('ZRANGE', waiting .. key, 0, 99)
    local scores = ids[1] and redis.call('ZMSCORE', blocked, unpack(ids)) or {}  -- at most 100: a page
    for i, id in ipairs(ids) do
      if not scores[i] then redis.call('ZREM', waiting .. key, id) end
    end
  end
  if keys[1] then drain_limit_queues(ctx, keys) end
end

-- on_housekeep(ctx, wanted): generated from lua/queue/noun.toml: calls the hooks of limits, fair, history.
local function on_housekeep(ctx, wanted)
  if ctx.settings_limits > 0 then limits_on_housekeep(ctx) end
  if ctx.settings_fair > 0 then fair_on_housekeep(ctx, wanted) end
  if ctx.now >= ctx.history_ms + 60000 or ctx.now < ctx.history_ms - 3600000 then history_on_housekeep(ctx) end
end

-- sweep_once(ctx, limit): delete expired fields of `once`, at most limit. Returns the number.
local function sweep_once(ctx, limit) local once, once_due = KEYS[22], KEYS[23]
  local fields = redis.call('ZRANGE', once_due, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, limit)
  if #fields == 0 then return 0 end
  -- at most 4,010: limit, as add_tasks gives it for 1,000 items
  redis.call('ZREM', once_due, unpack(fields))
  redis.call('HDEL', once, unpack(fields))
  return #fields
end

-- read_presence(): how long (ms) a worker without a heartbeat counts as alive.
local function read_presence() local config = KEYS[1]
  return tonumber(redis.call('HGET', config, 'presence_ms') or 30000)
end

-- retire_worker(name, killed): remove the current incarnation of a worker name. The last eight incarnations are remembered
-- for 2 minutes, so that a late repeated `register` of one of them is not accepted as new. If it was killed, as far as is
-- known, its successor gets a request that it has not heard. A restart is then `run`: the successor has started anew.
local function retire_worker(name, killed) local worker_hash = KEYS[20]
  local row = redis.call('HMGET', worker_hash .. name, 'incarnation', 'replaced', 'heard', 'mode', 'wanted')
  local kept = { 'replaced', string.match((row[1] or '') .. ' ' .. (row[2] or ''), '^ ?(' .. string.rep('%S* ?', 8) .. ')') }
  if killed and row[3] == '0' then
    kept[3], kept[4], kept[5], kept[6] = 'heard', '0', 'mode', row[4] == 'restart' and 'run' or row[4] or 'run'
    if row[5] then kept[7], kept[8] = 'wanted', row[5] end
  end
  redis.call('DEL', worker_hash .. name)
  redis.call('HSET', worker_hash .. name, unpack(kept))  -- at most 8: four fields
  redis.call('PEXPIRE', worker_hash .. name, 120000)
end

-- sweep_workers(ctx): forget workers that have been silent for too long: at most 100, as many as ctx.work allows, at
-- least 10. Their leases expire by themselves.
local function sweep_workers(ctx) local workers = KEYS[19]
  local silent_ms = ctx.presence_ms or read_presence()
  local most = math.max(10, math.min(100, math.floor(ctx.work / 6)))
  local gone = redis.call('ZRANGE', workers, '-inf', ctx.now - silent_ms, 'BYSCORE', 'LIMIT', 0, most)
  ctx.work = ctx.work - 6 * #gone
  for _, name in ipairs(gone) do
    redis.call('ZREM', workers, name)
    retire_worker(name, true)
    emit(ctx, 'worker.lost', name, '')
  end
  if #gone > 0 then add_count(ctx, 'workers_lost', #gone) end
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

-- shorten_family(ctx, id): remove links that are no longer needed. If a task is removed before its children, its stub
-- stays among its parent's children as a link, by which a cancelled tree finds them. A link without children is
-- removed. If a link's only child is a link, the child takes its place, behind all others, with the stamp of the last
-- cancelled tree. So there are fewer links than tasks.
-- LATE
local function shorten_family(ctx, id) local task, children, ends = KEYS[4], KEYS[26], KEYS[29]
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
local function remove_tasks(ctx, ids, since, why, most) local task, payload, result, log, ended_runs, steps, reply, by_user, by_tag, children = KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10], KEYS[24], KEYS[25], KEYS[26]
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

-- trim_ended(ctx, limit, known): delete ended tasks beyond the age and the number that the queue keeps, at most limit finished
-- and limit dead ones. Returns how many. Once a minute it also trims old events in whole blocks, unless groups may hold them: then
-- reads of these groups do. known: when the caller did all this last; 0: never. It reads presence_ms for sweep_workers, and
-- history_ms for the history.
local function trim_ended(ctx, limit, known) local config, finished, dead, groups_config, events = KEYS[1], KEYS[17], KEYS[18], KEYS[40], KEYS[42]
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

-- housekeep(ctx, wanted, known): once a second for each slot that claims: note the worker's presence, forget old ended tasks,
-- silent workers and keys of `once` whose time is over, and let features do what is due. False if more is left, for the next call.
-- known: when it did that last.
local function housekeep(ctx, wanted, known) local workers = KEYS[19]
  redis.call('ZADD', workers, ctx.now_text, worker)
  local trimmed = trim_ended(ctx, 100, known)
  sweep_workers(ctx)
  on_housekeep(ctx, wanted)
  return trimmed + sweep_once(ctx, 100) < 100 and not ctx.untrimmed
end

-- is_full(): whether the server has reached maxmemory. Only calls with large results ask, because INFO takes a few
-- microseconds. The call is between writes and must not fail, so a user without the right to INFO gets false.
local function is_full()
  local info = redis.pcall('INFO', 'memory')
  if type(info) ~= 'string' then return false end
  local used, max = string.match(info, 'used_memory:(%d+)'), string.match(info, 'maxmemory:([1-9]%d*)')
  return max and tonumber(used) >= tonumber(max)
end

-- join_traces(traces, count): the trace of an event of count tasks: their common trace, or one for each, separated by
-- spaces, with `-` for none.
local function join_traces(traces, count)
  local same = true
  for i = 1, count do
    traces[i] = traces[i] or '-'
    same = same and traces[i] == traces[1]
  end
  return same and traces[1] or table.concat(traces, ' ')
end

-- joins_at_once(ctx, id, score): for a claim that has put tasks into limit queues: put the next one into one, too, if its
-- limit is full, without reading all of its record. Whether it did.
local function joins_at_once(ctx, id, score) local task = KEYS[4]
  local own = redis.call('HMGET', task .. id, 'created_ms', 'user', 'tags', 'limits', 'ties')
  if not own[1] then return false end
  local limited = limits_of(ctx, own[2] or '', own[3] or '', own[4] or '')
  local full, recheck_at_ms = find_full(ctx, limited)
  if not full or full.policy ~= 'queue' then return false end
  ctx.met = ctx.met + #limited
  join_limit(ctx, id, score, full, recheck_at_ms, own[5])
  spare_others(ctx, limited, full)
  return true
end

-- note_starts(ctx): store the GCRA times of all rates that this claim has used.
local function note_starts(ctx) local rates = KEYS[35]
  local due = {}
  for i, limit in ipairs(ctx.started) do
    due[2 * i - 1], due[2 * i] = string.format('%.3f', limit.next_ms), limit.key
  end
  for first = 1, #due, 7000 do redis.call('ZADD', rates, unpack(due, first, math.min(first + 6999, #due))) end
end

-- limits_on_claimed(ctx): finish the limits of a claim: cancel the tasks that others preempt, let other tasks start where one waits
-- for another limit now, and let ctx.next_ms be no later than the next look at a limit queue. With queues that is at most 5 s,
-- because a change of a limit wakes no worker. ctx.timed: lanes in which this claim met a rate. It leaves a token there, because its
-- own worker may be busy when the next task may start.
-- WHEN ctx.settings_limits > 0
local function limits_on_claimed(ctx) local limit_lines = KEYS[34]
  if ctx.started[1] then note_starts(ctx) end
  for _, id in ipairs(ctx.victims) do cancel_one(ctx, id) end
  local lined, seen = {}, {}
  for _, key in ipairs(ctx.spared) do
    if not seen[key] and redis.call('ZSCORE', limit_lines, key) then lined[#lined + 1] = key end
    seen[key] = true
  end
  if lined[1] then drain_limit_queues(ctx, lined) end
  local recheck_at_ms = redis.call('ZRANGE', limit_lines, 0, 0, 'WITHSCORES')[2]
  if not recheck_at_ms then return end
  if recheck_at_ms - ctx.now < 10000 then
    for lane in pairs(ctx.timed) do push_due(lane) end
  end
  recheck_at_ms = ctx.lines_left and ctx.now or math.max(ctx.now, math.min(recheck_at_ms, ctx.now + 5000))
  ctx.next_ms = ctx.next_ms == 0 and recheck_at_ms or math.min(recheck_at_ms, ctx.next_ms)
end

-- limits_on_unlease(ctx, ids): the tasks no longer count for their limits, so the next tasks in those queues may start.
-- WHEN ctx.settings_limits > 0
local function limits_on_unlease(ctx, ids) local running, holding, limit_lines = KEYS[2], KEYS[32], KEYS[34]
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

-- line_up_last(ctx, by_lane, id, place, lane, priority, user): note a task for make_ready, behind all others of its lane and
-- priority, and of its user with fair shares. place: a new place, for queues without fair shares.
local function line_up_last(ctx, by_lane, id, place, lane, priority, user) local task = KEYS[4]
  lane = lane or 'any'
  local band = tonumber(priority or 5)
  if ctx.settings_fair > 0 then place = share_place(ctx, lane, user or '', band) end
  redis.call('HSET', task .. id, 'ready_ms', ctx.now_text)
  line_up(by_lane, lane, band * BAND + place, id)
end

-- promote_due(ctx, limit): put delayed tasks that are due at the end of their lanes, the earliest first, as many as ctx.work
-- allows. Tasks that crashed again and are due at the same time keep the order that they had before, not that of ids.
local function promote_due(ctx, limit) local config, task, delayed = KEYS[1], KEYS[4], KEYS[14]
  limit = math.min(limit, math.ceil(ctx.work / (ctx.settings_fair > 0 and 3 or 2)))
  local page = redis.call('ZRANGE', delayed, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, limit + 1, 'WITHSCORES')
  if #page == 0 then return 0 end
  local ids, tied, last = {}, false, math.min(limit, #page / 2)
  ctx.work = ctx.work - (ctx.settings_fair > 0 and 3 or 2) * last
  for i = 1, last do
    ids[i] = page[2 * i - 1]
    tied = tied or page[2 * i] == page[2 * i + 2]
  end
  if tied then ids = first_due(page, last) or ids end
  local place = redis.call('HINCRBY', config, 'place', #ids) - #ids
  local by_lane, promoted = {}, {}
  redis.call('ZREM', delayed, unpack(ids))  -- at most 1,000: limit
  for i, id in ipairs(ids) do
    local own = redis.call('HMGET', task .. id, 'created_ms', 'lane', 'priority', 'user')
    if not own[1] then
      drop_task(ctx, id)
    else
      line_up_last(ctx, by_lane, id, place + i, own[2], own[3], own[4])
      promoted[#promoted + 1] = id
    end
  end
  if #promoted == 0 then return 0 end
  make_ready(ctx, by_lane)
  emit(ctx, 'task.promoted', table.concat(promoted, ' '), '')
  add_count(ctx, 'promoted', #promoted)
  return #promoted
end

-- reap_expired(ctx, limit): take back leases past their deadline, by deadline and then by place among the first 1,000,
-- as many as ctx.work allows. After its first crash a task returns to its old place. After the n-th it waits for the
-- backoff of n-1. max_crashes of them end it.
local function reap_expired(ctx, limit) local config, running, leases, task, deadlines = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[16]
  local ids = redis.call('ZRANGE', leases, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, limit + 1)
  if #ids == 0 then return 0 end
  local held, by_lane, due, latest_ms, count = redis.call('HMGET', running, unpack(ids)), {}, {}, 0, 0  -- at most 1,001: one more than the limit
  local holds = 0  -- on_unlease subtracts its part of them
  while count < math.min(limit, #ids) and ctx.work > 3 * holds do  -- at most 1,000: limit
    count = count + 1
    holds = holds + math.max(0, #held_limits(held[count]) - 1)
    ctx.work = ctx.work - 3 - (string.find(held[count] or '', ' ties', 1, true) and 12 or 0)
  end
  if count < #ids then
    ids = first_leases(ctx, count)
    held = redis.call('HMGET', running, unpack(ids))  -- at most 1,000: limit
  end
  local all = read_policy(config)
  end_leases(ctx, ids)
  add_count(ctx, 'stalled', #ids)
  for i, id in ipairs(ids) do
    local lease = read_lease(held[i])
    ctx.trace = lease and lease.trace
    if redis.call('HEXISTS', task .. id, 'created_ms') == 0 then
      drop_task(ctx, id)
    elseif not lease then
      redis.call('HSET', task .. id, 'reason', 'damaged')
      move_to_dead(ctx, 'task.dead', id, 'damaged', true)
    else
      local crashes, reason, back_ms = lease.crashes + 1, nil, nil
      emit(ctx, 'task.stalled', id, 'crashes=' .. crashes .. ' worker=' .. lease.worker)
      if lease.cancelling then
        cancel_task(ctx, id, lease.tied)
      elseif crashes >= tonumber(all[6] or 5) then
        reason = 'crash_loop'
        redis.call('HDEL', task .. id, 'error', 'exit_code')  -- of another attempt
        move_to_dead(ctx, 'task.dead', id, reason, lease.tied, nil, ' attempts=' .. lease.attempt - 1)
      elseif crashes == 1 then
        back_ms = ctx.now
        line_up(by_lane, lease.lane, lease.score, id)
      else
        back_ms = ctx.now + backoff(read_policy(task .. id), all, crashes - 1, 500000)
        delay_until(ctx, back_ms, id, lease.lane)
        redis.call('HSET', task .. id, 'stood', string.format('%.0f ', back_ms) .. lease.score)
        latest_ms = math.max(latest_ms, back_ms)
      end
      note_run(ctx, id, lease.ran, 'stalled', reason or '', '')
      redis.call('HSET', task .. id, 'ran', lease.ran, 'crashes', crashes, 'deliveries', lease.delivery,
        reason and 'reason' or 'ready_ms', reason or ctx.now_text)
      if lease.tied and back_ms then await_deadline(ctx, id, back_ms, due) end
    end
  end
  ctx.trace = nil
  if due[1] then redis.call('ZADD', deadlines, unpack(due)) end  -- at most 2,000: two for each lease
  make_ready(ctx, by_lane)
  if latest_ms > tonumber(latest_ms > 0 and redis.call('HGET', config, 'crashed_due_ms') or 0) then
    redis.call('HSET', config, 'crashed_due_ms', string.format('%.0f', latest_ms))
  end
  return #ids
end

-- move_due(ctx, set): process due entries of a set: at most 100, limited by ctx.work, but always a few, so that no set
-- starves.
local function move_due(ctx, set) local leases, delayed, deadlines = KEYS[3], KEYS[14], KEYS[16]
  local moves = { [leases] = reap_expired, [deadlines] = expire_waiting, [delayed] = promote_due }
  ctx.work = math.max(ctx.work, 50)
  moves[set](ctx, 100)
end

-- next_end(ctx): report the ends that are noted, at most 100; the time of those that are left, or MAX_SAFE.
local function next_end(ctx) local ends = KEYS[29]
  local head = redis.call('ZRANGE', ends, 0, 0, 'WITHSCORES')
  local at_ms = tonumber(head[2] or MAX_SAFE)
  if at_ms > ctx.now and not ctx.notes then return at_ms end
  ctx.told = propagate_ends(ctx, 100)
  if ctx.notes then return ctx.now end
  return tonumber(head[1] and redis.call('ZRANGE', ends, 0, 0, 'WITHSCORES')[2] or MAX_SAFE)
end

-- next_firing(ctx): the time of the next firing of any schedule; 0 if there is none, or if the queue is draining.
local function next_firing(ctx) local schedules = KEYS[30]
  if ctx.settings_mode == 'draining' then return 0 end
  local head = redis.call('ZRANGE', schedules, 0, 0, 'WITHSCORES')
  local due_ms = tonumber(head[2] or MAX_SAFE)
  return due_ms < MAX_SAFE and due_ms or 0
end

-- reclaim_tasks(ctx, given): the answer to a repeated claim: the tasks of the first answer that still have the same
-- token.
local function reclaim_tasks(ctx, given) local running, leases = KEYS[2], KEYS[3]
  local leased, index, deadline_ms = {}, 0, ctx.now + ctx.lease_ms
  for id in string.gmatch(given, '%S+') do
    index = index + 1
    local lease = read_lease(redis.call('HGET', running, id))
    if lease and lease.token == incarnation .. '.' .. slot .. '.' .. n .. '/' .. index then
      local record, _, _, _, _, _, _, _, stored = read_task(id)
      if stored then add_steps(record, id, stored) end
      leased[#leased + 1] = { 'leased', id, lease.token, lease.fence, lease.attempt, lease.delivery, '', record }
      deadline_ms = tonumber(redis.call('ZSCORE', leases, id) or deadline_ms)
    end
  end
  if ctx.settings_timeout_ms > 0 and leased[1] then give_timeout(ctx, leased) end
  add_payloads(leased)
  return deadline_ms, leased
end

-- start_tied(ctx, id, record): at the first lease of a task with ties: delete its scope and its deadline. record: as
-- read_task reads it. Returns true if the task has expired.
local function start_tied(ctx, id, record) local deadlines, once = KEYS[16], KEYS[22]
  local scope, expires_at_ms, timer, leased
  for f = 1, #record, 2 do
    local name = record[f]
    if name == 'scope' then scope = 'scope:' .. record[f + 1]
    elseif name == 'expires_at_ms' then expires_at_ms = tonumber(record[f + 1])
    elseif name == 'fallback_after_ms' then timer = true
    elseif name == 'deliveries' then leased = true
    end
  end
  if timer or expires_at_ms then redis.call('ZREM', deadlines, id) end
  if scope and redis.call('HGET', once, scope) == id then redis.call('HDEL', once, scope) end
  return not leased and (expires_at_ms or MAX_SAFE) <= ctx.now
end

  arg_made = { on_end = on_end, move_to_dead = move_to_dead, write_limits = write_limits, apply_limits = apply_limits, push_control = push_control, chains_on_close = chains_on_close, comes_alone = comes_alone, drain_due_limit_queues = drain_due_limit_queues, drop_payloads = drop_payloads, drop_task = drop_task, settled_before = settled_before, fail_tasks = fail_tasks, fair_on_take = fair_on_take, give_timeout = give_timeout, has_other_result = has_other_result, hold_limits = hold_limits, trim_set = trim_set, housekeep = housekeep, is_full = is_full, join_traces = join_traces, joins_at_once = joins_at_once, limits_on_claimed = limits_on_claimed, limits_on_unlease = limits_on_unlease, move_due = move_due, next_end = next_end, next_firing = next_firing, reclaim_tasks = reclaim_tasks, start_tied = start_tied }
  return arg_made
end

local ctx, refused = open(nil, row)
if refused then return refused end
ctx.lease_ms = lease_ms > 0 and lease_ms or ctx.settings_lease_ms
local standing, given = check_slot(ctx, known)
if standing == 'stale' then return { 'stale' } end
if standing == 'unregistered' then return { 'unregistered' } end

local failed, deadline_ms, leased = {}, nil, nil
local acked = ack_tasks(ctx, acks_id, acks_token, acks_result, held)
if fails_count > 0 then
  failed = arg_rare().fail_tasks(ctx, {
    id = fails_id, token = fails_token, retryable = fails_retryable, reason = fails_reason, error = fails_error,
    jitter_ppm = fails_jitter_ppm, pairs = fails_pairs,
  })
end
ctx.next_ms = sweep(ctx)
if standing == 'replay' then
  deadline_ms, leased = arg_rare().reclaim_tasks(ctx, given)
else
  if math.abs(ctx.now - given) >= 1000 and arg_rare().housekeep(ctx, lanes_wanted_lane, given) then given = ctx.now end
  deadline_ms, leased = claim_tasks(ctx, lanes_wanted_lane, limit, given)
end
on_claimed(ctx)
close(ctx)
return { 'ok', ctx.now, ctx.next_ms, ctx.settings_schedules and arg_rare().next_firing(ctx) or 0, ctx.lease_ms, deadline_ms, acked, failed, leased }
