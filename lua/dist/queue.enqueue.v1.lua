#!lua
-- generated from lua/queue/enqueue.v1.lua by lua/bundle.py; do not edit
-- queue.enqueue.v1: put tasks into a queue, to run at once or later. The caller chooses the ids. The same id under the
-- same rid and index is a replay and returns `created` again. Any other use of a known id returns `exists` and changes
-- nothing. `deduplicated` names the existing task with the same idempotency key (for a day, unless configured), unique
-- key (until that task has ended) or scope (until its first lease; with coalesce=last, the new payload replaces its
-- payload). The tasks of a call keep their order. If no worker takes a task within fallback_after_ms, it waits in each
-- fallback lane in turn; then it keeps waiting, or fails. A task with `after` starts when those tasks have ended as
-- after_when says (completed by default), or one of them with after_any. `unknown` names the first task of `after`, or
-- with needs_parent the parent, that does not exist, or the parent that is in `after` and waits for this child. A task with `gather` starts when this number of later tasks that
-- name it as their parent have ended. If that is no longer possible, it is dead (`after_failed`), or cancelled if it
-- waits for a failure. Tasks of one ordering key start one after the other, each when the one before it has ended in
-- any way. `epoch` is that of the map of partitions that the client used. A task that `moved` to another partition is
-- created here if tasks of its key or family are still here.
--
-- DATA   config      hash           {base}:config
-- DATA   running     hash           {base}:running
-- DATA   leases      zset           {base}:leases
-- DATA   task        prefix/hash    {base}:task:       id
-- DATA   payload     prefix/string  {base}:payload:    id
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
-- DATA   once_due    zset           {base}:once:due
-- DATA   by_user     prefix/zset    {base}:by:user:    label
-- DATA   by_tag      prefix/zset    {base}:by:tag:     label
-- DATA   children    prefix/zset    {base}:children:   id
-- DATA   dependents  prefix/zset    {base}:dependents: id
-- DATA   order       prefix/zset    {base}:order:      id
-- DATA   ends        zset           {base}:ends
-- DATA   limits      hash           {base}:limits
-- DATA   waiting     prefix/zset    {base}:waiting:    limit
-- DATA   limit_lines zset           {base}:limit:lines
-- DATA   weights     hash           {base}:weights
-- DATA   shares      prefix/zset    {base}:shares:     lane
-- DATA   channel     prefix/channel {base}:channel:    id
-- DATA   counters    hash           {base}:counters
-- DATA   events      stream         {base}:events
-- ARGV   rid       id
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ARGV   epoch     int 0..       ?=0
-- ARGV   moved     bool          ?=0
-- ITEM   id        id
-- ITEM   payload   bytes 0..1048576
-- PAIR   kind      label
-- PAIR   priority  int 0..9      ?=5
-- PAIR   lane      lane          ?=any
-- PAIR   fallback  lanes 1..3
-- PAIR   fallback_after_ms int 0..315360000000
-- PAIR   unclaimed enum wait|fail ?=wait
-- PAIR   reply     bool ?=0
-- PAIR   after     ids 1..64
-- PAIR   gather    int 1..100000
-- PAIR   after_any bool ?=0
-- PAIR   after_when enum completed|failed|ended ?=completed
-- PAIR   delay_ms  int 0..315360000000 ?=0
-- PAIR   run_after_ms  int 0..   ?=0
-- PAIR   expires_at_ms int 1..
-- PAIR   timeout_ms int 1..315360000000
-- PAIR   user      label
-- PAIR   tags      labels 1..16
-- PAIR   limits    ids 1..8
-- PAIR   parent    id
-- PAIR   needs_parent bool ?=0
-- PAIR   ordering_key id
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
-- PAIR   tier      enum public|internal|confidential|restricted
-- PAIR   source    bytes 1..200
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      created
-- EACH   item      exists
-- EACH   item      deduplicated id:id
-- EACH   item      unknown id:id
-- EACH   item      moved
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK ADEQ_DRAINING ADEQ_EPOCH
-- EVENT  task.enqueued task.unblocked task.dead task.cancelled task.limited
-- ROLE   produce
-- REPLAY rid
-- COST   11 + n commands, 8 + 4n delayed ones, 5 more for each idempotency key, 3 for a scope or a gathered child, 1 for a user, tag, parent, unique key, 2 to wait, 1 for each that it waits for and 6 for it once in a call, 4 for a parent among these, 6 for an ordering key, 2 for one that has moved, 1 with fair shares and 3 for each user, 2 if there are limits and 4 for each task in a limit queue, O(n log m); at most 63,000 commands, 970,000 steps

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
  if KEYS[2] ~= arg_base .. '!produce' then return refuse('key gate', KEYS[2], arg_base .. '!produce') end
  KEYS = { arg_base .. ':config', arg_base .. ':running', arg_base .. ':leases', arg_base .. ':task:', arg_base .. ':payload:', arg_base .. ':reply:', arg_base .. ':ready:', arg_base .. ':lanes', arg_base .. ':wake:', arg_base .. ':delayed', arg_base .. ':blocked', arg_base .. ':deadlines', arg_base .. ':finished', arg_base .. ':dead', arg_base .. ':control:', arg_base .. ':once', arg_base .. ':once:due', arg_base .. ':by:user:', arg_base .. ':by:tag:', arg_base .. ':children:', arg_base .. ':dependents:', arg_base .. ':order:', arg_base .. ':ends', arg_base .. ':limits', arg_base .. ':waiting:', arg_base .. ':limit:lines', arg_base .. ':weights', arg_base .. ':shares:', arg_base .. ':channel:', arg_base .. ':counters', arg_base .. ':events' }
end

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
local epoch = ARGV[5]
if epoch == '' then
  epoch = 0
else
  epoch = arg_uint(epoch, 0, 9007199254740991)
  if not epoch then return refuse('epoch', ARGV[5], 'an integer from 0 to 9007199254740991') end
end
local moved = ARGV[6]
if moved ~= '0' and moved ~= '1' and moved ~= '' then
  return refuse('moved', moved, '0 or 1')
end
moved = moved == '1'
local arg_at = 7
local arg_bytes = 0
local item_count = ARGV[arg_at]
item_count = arg_uint(item_count, 1, 1000)
if not item_count then return refuse('item_count', ARGV[arg_at], 'an integer from 1 to 1000') end
arg_at = arg_at + 1
local item_id, item_payload, item_pairs = {}, {}, {}
local arg_seen_item, arg_label, arg_ids, arg_lane, arg_lanes
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
  local size, entry = ARGV[arg_at], arg_empty
  arg_at = arg_at + 1
  if size ~= '0' then
    size = size and #size == 1 and arg_find('123456789', size, 1, true) or arg_uint(size, 0, 34)
    if not size then return refuse('item[' .. i .. '].pairs', ARGV[arg_at - 1], 'an integer from 0 to 34') end
    if not arg_seen_item then
      arg_seen_item = {}
      function arg_label(v)
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
      function arg_ids(v, min, max, is_label)
        local list, n = {}, 0
        if not v or #v > max * 201 then return nil end
        if v ~= '' then
          for id in string.gmatch(v .. ',', '([^,]*),') do
            if #id > 200 or not (arg_find(id, '^[%w._:/@+-]+$') or (is_label and is_label(id))) then return nil end
            n = n + 1
            list[n] = id
          end
        end
        if n >= min and n <= max then return list end
      end
      function arg_lane(v)
        if not v or v == 'any' then return v end
        local group, rest = string.match(v, '^group/([%w._@+-]+)(.*)$')
        if not group or #group > 100 then return nil end
        if rest == '' then return v end
        local inst = string.match(rest, '^/inst/([%w._@+-]+)$')
        if inst and #inst <= 100 then return v end
      end
      function arg_lanes(v, min, max)
        local list, n = {}, 0
        if not v or #v > max * 213 then return nil end
        if v ~= '' then
          for lane in string.gmatch(v .. ',', '([^,]*),') do
            if not arg_lane(lane) then return nil end
            n = n + 1
            list[n] = lane
          end
        end
        if n >= min and n <= max then return list end
      end
    end
    local filled = 0
    for at = arg_at, arg_at + 2 * size - 2, 2 do
      local name, raw = ARGV[at], ARGV[at + 1]
      local v = raw
      if name == 'kind' then
        if not v or #v > 200 or not (arg_find(v, '^[%w._:/@+-]+$') or arg_label(v)) then
          return refuse('item[' .. i .. '].kind', v, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
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
        v = arg_lanes(v, 1, 3)
        if not v then return refuse('item[' .. i .. '].fallback', raw, '1 to 3 lanes with commas between them') end
      elseif name == 'fallback_after_ms' then
        v = arg_uint(v, 0, 315360000000)
        if not v then return refuse('item[' .. i .. '].fallback_after_ms', raw, 'an integer from 0 to 315360000000') end
      elseif name == 'unclaimed' then
        if raw == '' then
          v = nil
        else
          if v ~= 'wait' and v ~= 'fail' then
            return refuse('item[' .. i .. '].unclaimed', v, 'one of wait, fail')
          end
          if v == 'wait' then v = nil end
        end
      elseif name == 'reply' then
        if raw == '' then
          v = nil
        else
          if v ~= '0' and v ~= '1' then
            return refuse('item[' .. i .. '].reply', v, '0 or 1')
          end
          v = v == '1'
          if v == false then v = nil end
        end
      elseif name == 'after' then
        v = arg_ids(v, 1, 64)
        if not v then return refuse('item[' .. i .. '].after', raw, '1 to 64 ids with commas between them') end
      elseif name == 'gather' then
        v = arg_uint(v, 1, 100000)
        if not v then return refuse('item[' .. i .. '].gather', raw, 'an integer from 1 to 100000') end
      elseif name == 'after_any' then
        if raw == '' then
          v = nil
        else
          if v ~= '0' and v ~= '1' then
            return refuse('item[' .. i .. '].after_any', v, '0 or 1')
          end
          v = v == '1'
          if v == false then v = nil end
        end
      elseif name == 'after_when' then
        if raw == '' then
          v = nil
        else
          if v ~= 'completed' and v ~= 'failed' and v ~= 'ended' then
            return refuse('item[' .. i .. '].after_when', v, 'one of completed, failed, ended')
          end
          if v == 'completed' then v = nil end
        end
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
        if not v or #v > 200 or not (arg_find(v, '^[%w._:/@+-]+$') or arg_label(v)) then
          return refuse('item[' .. i .. '].user', v, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
        end
      elseif name == 'tags' then
        v = arg_ids(v, 1, 16, arg_label)
        if not v then return refuse('item[' .. i .. '].tags', raw, '1 to 16 labels with commas between them') end
      elseif name == 'limits' then
        v = arg_ids(v, 1, 8)
        if not v then return refuse('item[' .. i .. '].limits', raw, '1 to 8 ids with commas between them') end
      elseif name == 'parent' then
        if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
          return refuse('item[' .. i .. '].parent', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
        end
      elseif name == 'needs_parent' then
        if raw == '' then
          v = nil
        else
          if v ~= '0' and v ~= '1' then
            return refuse('item[' .. i .. '].needs_parent', v, '0 or 1')
          end
          v = v == '1'
          if v == false then v = nil end
        end
      elseif name == 'ordering_key' then
        if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
          return refuse('item[' .. i .. '].ordering_key', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
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
      elseif name == 'tier' then
        if v ~= 'public' and v ~= 'internal' and v ~= 'confidential' and v ~= 'restricted' then
          return refuse('item[' .. i .. '].tier', v, 'one of public, internal, confidential, restricted')
        end
      elseif name == 'source' then
        if not v or #v < 1 or #v > 200 then
          return refuse('item[' .. i .. '].source', v and #v, '1 to 200 bytes long')
        end
      else
        return refuse('item[' .. i .. '].pairs', name, 'names from kind, priority, lane, fallback, fallback_after_ms, unclaimed, reply, after, gather, after_any, after_when, delay_ms, run_after_ms, expires_at_ms, timeout_ms, user, tags, limits, parent, needs_parent, ordering_key, idempotency_key, unique, scope, coalesce, result_ms, max_attempts, backoff_base_ms, backoff_multiplier_pct, backoff_cap_ms, and others')
      end
      if arg_seen_item[name] == i then
        return refuse('item[' .. i .. '].' .. name, 2, 'given at most once')
      end
      arg_seen_item[name] = i
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
  item_pairs[i] = entry
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end
if arg_bytes > 16777216 then
  return refuse('the items of a call', arg_bytes, 'at most 16777216 bytes')
end

-- hold_new_keys(now, fields): store the idempotency keys of new tasks, as hold_keys does for each, and delete some that have
-- expired, as sweep_once does. fields: as new_keys returns them.
local function hold_new_keys(now, fields) local config, once, once_due = KEYS[1], KEYS[16], KEYS[17]
  local until_text = string.format('%.0f', now + (redis.call('HGET', config, 'idempotency_ms') or 86400000))
  local by_time = {}
  for i = 1, #fields, 2 do
    by_time[i], by_time[i + 1] = until_text, fields[i]
    fields[i + 1] = fields[i + 1] .. ' ' .. until_text
  end
  redis.call('HSET', once, unpack(fields))  -- at most 2,000: two for each item
  redis.call('ZADD', once_due, unpack(by_time))  -- at most 2,000: two for each item
  local expired = redis.call('ZRANGE', once_due, '-inf', now, 'BYSCORE', 'LIMIT', 0, 10 + #fields)
  if #expired > 0 then
    redis.call('ZREM', once_due, unpack(expired))  -- at most 2,010: ten, and two for each item
    redis.call('HDEL', once, unpack(expired))  -- at most 2,010: ten, and two for each item
  end
end

-- add_plain_tasks(ids, data, envelopes, stamps, keys, now, now_text, row, held): the usual case of add_tasks: new tasks of lane
-- `any`, of whose pairs only `user`, `priority`, `timeout_ms` and `result_ms` are more than stored, and idempotency keys, if
-- `held` has them. It sends the same commands, and makes no functions for them. keys: of the records. held: see new_keys.
local function add_plain_tasks(ids, data, envelopes, stamps, keys, now, now_text, row, held) local config, payload, ready, lanes, wake, by_user, counters, events = KEYS[1], KEYS[5], KEYS[7], KEYS[8], KEYS[9], KEYS[18], KEYS[30], KEYS[31]
  local score = redis.call('HINCRBY', config, 'place', #ids) - #ids
  local created, of_call, of_user = { 'created' }, nil, nil
  local events_max = row[3] or '100000'
  local answers, payloads, members = { nil }, { nil, nil }, { nil, nil }  -- with room for one task, as most calls have
  if source .. trace ~= '' then
    of_call = { 'event', 'task.enqueued', 'timestamp', now_text, 'id', table.concat(ids, ' ') }
    if source ~= '' then of_call[7], of_call[8] = 'source', source end
    if trace ~= '' then of_call[#of_call + 1] = 'trace'; of_call[#of_call + 1] = trace end
  end
  for i = 1, #ids do
    local id, own, size, stamp = ids[i], envelopes[i], #data[i], stamps[i]
    if of_call and not own.marked then  -- once: items without pairs share a table
      for at = own.source and source ~= '' and 9 or 7, #of_call do own[#own + 1] = of_call[at] end
      own.marked = true
    end
    if own.timeout_ms or own.result_ms then own[#own + 1] = 'ties'; own[#own + 1] = '1' end
    -- at most 32: thirteen pairs, and source, trace and ties
    if size > 1024 then redis.call('HSET', keys[i], 'rid', stamp, 'created_ms', now_text, 'size', size, unpack(own)) end
    if size <= 1024 then redis.call('HSET', keys[i], 'rid', stamp, 'created_ms', now_text, unpack(own)) end
    if own.user then
      of_user = of_user or {}
      local some = of_user[own.user] or {}
      of_user[own.user], some[#some + 1] = some, now_text
      some[#some + 1] = id
    end
    answers[i] = created
    payloads[2 * i - 1] = payload .. id  -- one by one: Lua would fill a list from the right, and move it often
    payloads[2 * i] = data[i]
    members[2 * i - 1] = (own.priority or 5) * BAND + score + i
    members[2 * i] = id
  end
  -- at most 2,000: two for each item
  redis.call('MSET', unpack(payloads))
  if of_user then
    -- at most 2,000: two for each item
    for user, some in pairs(of_user) do redis.call('ZADD', by_user .. user, unpack(some)) end
  end
  local there = redis.call('EXISTS', ready .. 'any', wake .. 'any')
  redis.call('ZADD', ready .. 'any', unpack(members))  -- at most 2,000: two for each item
  if there < 2 then  -- otherwise `lanes` has the lane already
    redis.call('SADD', lanes, 'any')
    local has_token = there == 1 and redis.call('EXISTS', wake .. 'any') == 1
    if has_token then redis.call('PERSIST', wake .. 'any') end  -- of an empty lane: see push_wake
    if not has_token then redis.call('LPUSH', wake .. 'any', '1') end
  end
  if of_call then
    redis.call('XADD', events, 'MAXLEN', '~', events_max, '*', unpack(of_call))  -- at most 10: fields of an event
  else
    redis.call('XADD', events, 'MAXLEN', '~', events_max, '*', 'event', 'task.enqueued', 'timestamp', now_text,
      'id', #ids == 1 and ids[1] or table.concat(ids, ' '))
  end
  if held then hold_new_keys(now, held) end
  redis.call('HINCRBY', counters, 'enqueued', #ids)
  return answers
end

-- new_keys(ids, envelopes, stamps): what hold_new_keys needs of tasks with idempotency keys: a list of a field of `once` and
-- the id in turn. false if a task may be a duplicate: `once` has its key, even if it has expired, or an answer of this call,
-- or another task of the call has the same key.
local function new_keys(ids, envelopes, stamps) local once = KEYS[16]
  local asked, fields, seen = {}, {}, {}
  for i = 1, #ids do
    local key = envelopes[i].idempotency_key
    if key then
      if seen[key] then return false end
      seen[key] = true
      asked[#asked + 1] = 'rid:' .. stamps[i]
      asked[#asked + 1] = 'key:' .. key
      fields[#fields + 1] = 'key:' .. key
      fields[#fields + 1] = ids[i]
    end
  end
  local found = redis.call('HMGET', once, unpack(asked))  -- at most 2,000: two for each item
  for i = 1, #asked do
    if found[i] then return false end
  end
  return fields
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

local config, task = KEYS[1], KEYS[4]

-- The usual call: new tasks with no pairs but those of `fit`, in a queue that runs and uses no limits, fair shares
-- or other tier. It sends the commands that the code below would send, and makes few functions for them. It leaves all else
-- to that code, and so all refusals and replays, before any write.
local row, known, plain, keys, stamps, tens, seen, fit, keyed = nil, nil, not moved, {}, {}, rid .. '/', item_count > 1 and {}, nil, nil
for i = 1, item_count do
  local id, own, unit = item_id[i], item_pairs[i], i % 10
  if unit == 0 then tens = rid .. '/' .. string.format('%d', i / 10) end  -- a number as text takes five times as long as this
  keys[i], stamps[i] = task .. id, tens .. string.char(48 + unit)
  if seen then
    plain = plain and not seen[id]
    seen[id] = true
  end
  if plain and #own > 0 then
    fit = fit or { kind = 1, user = 1, priority = 1, timeout_ms = 1, max_attempts = 1, headers = 1, source = 1, result_ms = 1,
      backoff_base_ms = 1, backoff_multiplier_pct = 1, backoff_cap_ms = 1, jitter_pct = 1, idempotency_key = 1 }
    for at = 1, #own, 2 do plain = plain and fit[own[at]] end
    keyed = keyed or own.idempotency_key
  end
end
if plain then
  row = redis.call('HMGET', config, 'layout_min', 'clock', 'events_max', 'tier', 'fair', 'mode', 'epoch', 'chains', 'limits', 'fair_top')
  local usual = row[1] and epoch == tonumber(row[7] or 0) and row[3] ~= '0'
    and (row[6] or 'running') == 'running' and (row[4] or 'internal') == 'internal'
    and (row[9] or '0') == '0' and (row[5] or '0') == '0'
  if usual then known = redis.call('EXISTS', unpack(keys)) > 0 end  -- at most 1,000: items
  local now, now_text
  if usual and not known then now, now_text = read_clock(row[1], row[2]) end
  local held = now and keyed and new_keys(item_id, item_pairs, stamps)
  if now and (held or not keyed) then
    return { 'ok', now, add_plain_tasks(item_id, item_payload, item_pairs, stamps, keys, now, now_text, row, held) }
  end
end

local arg_rare

-- emit(ctx, event, id, detail): add an entry to the stream, if the noun keeps events. detail: `name=value` words, or
-- ''. The trace is ctx.trace, that of the task, or else that of the call.
local function emit(ctx, event, id, detail) local events = KEYS[31]
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

-- index_task(ctx, by_index, id, own): note a new task for the indexes of its user, tags and parent.
-- EARLY
local function index_task(ctx, by_index, id, own) local by_user, by_tag, children = KEYS[18], KEYS[19], KEYS[20]
  if own.user then line_up(by_index, by_user .. own.user, ctx.now_text, id) end
  if own.tags then
    local seen = {}
    for _, tag in ipairs(own.tags) do
      if not seen[tag] then line_up(by_index, by_tag .. tag, ctx.now_text, id) end
      seen[tag] = true
    end
  end
  if own.parent then line_up(by_index, children .. own.parent, ctx.now_text, id) end
end

-- push_wake(ctx, lane, was_empty): push a wake-up token for a blocked worker, unless the queue is paused. One is enough: it
-- is a hint, not a task.
-- was_empty: the lane may have been empty. Then its token may be for a due time, and must not expire any more.
local function push_wake(ctx, lane, was_empty) local wake = KEYS[9]
  if (ctx.mode or ctx.settings_mode) == 'paused' then return was_empty and redis.call('PERSIST', wake .. lane) end
  if redis.call('EXISTS', wake .. lane) == 0 then redis.call('LPUSH', wake .. lane, '1') elseif was_empty then redis.call('PERSIST', wake .. lane) end
end

-- make_ready(ctx, by_lane): put tasks into their lanes and wake a worker for each lane. by_lane[lane] = { score, id,
-- score, id, … } (line_up). The shares of a lane with waiting tasks do not expire.
local function make_ready(ctx, by_lane) local ready, lanes, shares = KEYS[7], KEYS[8], KEYS[28]
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

-- place_task(ctx, id, own, place, by_lane): put a new task where it waits: for other tasks, for its time, in its lane,
-- or in the queue of a limit if others wait there already.
-- EARLY
local function place_task(ctx, id, own, place, by_lane)
  if own.awaits then return end  -- for other tasks: join_chains has placed it
  local due_ms = math.max(ctx.now + (own.delay_ms or 0), own.run_after_ms or 0)
  local tied = own.fallback_after_ms or own.expires_at_ms
  if due_ms > ctx.now then
    arg_rare().delay_until(ctx, due_ms, id, own.lane or 'any')
  else
    local band = own.priority or 5
    local score = band * BAND + (ctx.settings_fair > 0 and arg_rare().share_place(ctx, own.lane or 'any', own.user or '', band) or place)
    local limit = ctx.settings_limits > 0 and arg_rare().find_line(ctx, own)
    if limit then
      ctx.lined[#ctx.lined + 1] = id
      if ctx.settings_fair > 0 then ctx.aside[own.lane or 'any'] = true end
      return arg_rare().join_limit(ctx, id, string.format('%.0f', score), limit, arg_rare().full_score(ctx), tied)
    end
    line_up(by_lane, own.lane or 'any', score, id)
  end
  if tied then arg_rare().await_deadline(ctx, id, due_ms) end
end

-- write_record(id, stamp, ctx, own, size): write the record of a new task: its pairs, the tier of the queue, source and trace
-- of the call unless the task has its own source, and `ties` if it needs more than usual at its first lease, its return or
-- its end. ctx.restricted: whether a new task is: then events do not name the source. If an older task of this id left a
-- stub, its settlement stays known as `settled_earlier`, and so do the last eight calls that enqueued it. A link of another
-- family (shorten_family) is no longer one.
-- EARLY
local function write_record(id, stamp, ctx, own, size) local task, children = KEYS[4], KEYS[20]
  local key, tier = task .. id, ctx.settings_tier
  local old = ctx.some_known and redis.call('HMGET', key, 'gone', 'rid', 'earlier', 'settled', 'link')
  if old and old[5] then
    redis.call('HDEL', key, 'link', 'pruned')
    redis.call('ZREM', children .. old[5], id)
    arg_rare().shorten_family(ctx, old[5])
  end
  -- each once: plain items share a table
  if tier ~= 'internal' and not own.tier then own.tier, own[#own + 1], own[#own + 2] = tier, 'tier', tier end
  if source ~= '' and not own.source then own.source, own[#own + 1], own[#own + 2] = source, 'source', source end
  ctx.restricted = ctx.restricted or own.tier == 'restricted'
  if trace ~= '' and not own.trace then own.trace, own[#own + 1], own[#own + 2] = trace, 'trace', trace end
  if own.unique or own.scope or own.ordering_key or own.fallback_after_ms or own.expires_at_ms or own.timeout_ms or own.result_ms or own.reply
    or own.gathered then
    own[#own + 1] = 'ties'  -- one by one: in one statement Lua would fill from the right
    own[#own + 1] = '1'
  end
  -- at most 80: two for each pair of an item
  if size > 1024 then redis.call('HSET', key, 'rid', stamp, 'created_ms', ctx.now_text, 'size', size, unpack(own)) end
  if size <= 1024 then redis.call('HSET', key, 'rid', stamp, 'created_ms', ctx.now_text, unpack(own)) end
  if old and old[1] then
    local calls = string.match(old[2] .. ' ' .. (old[3] or ''), '^' .. string.rep('%S* ?', 8))
    redis.call('HSET', key, 'earlier', calls)
    redis.call('HDEL', key, 'gone', 'settled')
    if old[4] then redis.call('HSET', key, 'settled_earlier', old[4]) end
    redis.call('PERSIST', key)
  end
end

-- add_tasks(ctx, ids, data, envelopes, stamps): add the tasks that are new. envelopes: their pairs; stamps:
-- `<rid>/<index>`. Returns one answer for each task.
-- EARLY
local function add_tasks(ctx, ids, data, envelopes, stamps) local config, payload, ready, shares = KEYS[1], KEYS[5], KEYS[7], KEYS[28]
  local last = redis.call('HINCRBY', config, 'place', #ids)
  local place = last - #ids
  ctx.there, ctx.gathers, ctx.lined, ctx.aside, ctx.last_place = {}, {}, {}, {}, string.format('%.0f', last)
  local new, answers, created, seen, payloads, by_lane, by_index = { 'created' }, {}, {}, {}, {}, {}, {}
  for i, id in ipairs(ids) do
    local own, known, twin, by, later, later_twin = envelopes[i], nil, nil, nil, false, false
    local keyed = own.idempotency_key or own.unique or own.scope
    if ctx.some_known then known, later = arg_rare().known_as(id, stamps[i]) end
    known = known or (seen[id] and 'exists')
    if keyed and known ~= 'created' then twin, by, later_twin = arg_rare().find_duplicate(ctx, own, stamps[i]) end
    -- What a later item of this call made was not there when the call came before: then this one was refused, and is again.
    local may_be_refused = by ~= 'rid' and (not known or later) and (not twin or later_twin)
    local obstacle = may_be_refused and (own.after or own.needs_parent) and arg_rare().find_obstacle(ctx, own, stamps[i])
    if may_be_refused and ctx.moved and not arg_rare().is_here(own) then
      answers[i] = { 'moved' }
    elseif obstacle then
      answers[i] = { 'unknown', obstacle }
    elseif twin and (by == 'rid' or not known) then
      answers[i] = { 'deduplicated', twin }
      arg_rare().merge_task(ctx, twin, later_twin and 'key' or by, stamps[i], own, data[i])  -- the payload of the later item is newer
    elseif known then
      answers[i], seen[id] = { known }, true
    else
      answers[i], seen[id], ctx.there[id], created[#created + 1] = new, true, 'new', id
      if own.scope then
        redis.call('SET', payload .. id, data[i])  -- because a later item of the same scope may replace the payload
      else
        payloads[#payloads + 1] = payload .. id
        payloads[#payloads + 1] = data[i]
      end
      if own.ordering_key then arg_rare().join_order(id, own, place + i) end
      if own.parent and (ctx.settings_chains or ctx.has_chains) then arg_rare().join_gathering(ctx, own, own.parent) end
      if own.after or own.gather or own.behind then arg_rare().join_chains(ctx, id, own, place + i, by_index) end
      write_record(id, stamps[i], ctx, own, #data[i])
      if keyed then arg_rare().hold_keys(ctx, id, own, false) end
      index_task(ctx, by_index, id, own)
      place_task(ctx, id, own, place + i, by_lane)
    end
  end
  if ctx.held then arg_rare().sweep_once(ctx, 10 + 2 * ctx.held) end
  if #created == 0 then return answers end
  -- at most 2,000: two for each item
  if #payloads > 0 then redis.call('MSET', unpack(payloads)) end
  for index, members in pairs(by_index) do redis.call('ZADD', index, unpack(members)) end
  make_ready(ctx, by_lane)
  for lane in pairs(ctx.aside) do
    if redis.call('EXISTS', ready .. lane) == 0 then redis.call('EXPIRE', shares .. lane, 2592000) end
  end
  emit(ctx, 'task.enqueued', table.concat(created, ' '), '')
  if #ctx.lined > 0 then arg_rare().write_joins(ctx) end
  if #ctx.lined > 0 then emit(ctx, 'task.limited', table.concat(ctx.lined, ' '), '') end
  ctx.counts.enqueued = #created
  return answers
end

-- check_parts(ctx, i, own): check an item: return an error if its fields contradict each other, or if the call has more
-- than 8,000 tags, limits and `after` ids; otherwise nil.
local function check_parts(ctx, i, own)
  local moves = own.fallback or own.unclaimed == 'fail'
  if not moves ~= not own.fallback_after_ms then
    return refuse('item[' .. i .. '].fallback_after_ms', own.fallback_after_ms, 'given with fallback or unclaimed=fail, and only so')
  end
  if own.ordering_key and (own.after or own.gather) then
    return refuse('item[' .. i .. '].ordering_key', own.ordering_key, 'given without after and gather')
  end
  if own.tags or own.after or own.limits then
    ctx.parts = (ctx.parts or 0) + (own.tags and #own.tags or 0) + (own.after and #own.after or 0) + (own.limits and #own.limits or 0)
    if ctx.parts > 8000 then return refuse('the tags, limits and after of a call', ctx.parts, 'at most 8000 in all') end
  end
end

-- on_close(ctx): generated from lua/queue/noun.toml: calls the hooks of chains.
local function on_close(ctx)
  if ctx.notes then arg_rare().chains_on_close(ctx) end
end

-- open(clock, row): read what every call needs: the time, whether the base exists, and the settings that this script
-- uses as `ctx.settings_<name>`; or nil and the error to return. lua/tools/opening.py generates which settings these are,
-- and the first values of the fields of call.toml. clock: for a call that may create the base. row: the settings as they
-- are stored, if the caller has read them.
local function open(clock, row) local config = KEYS[1]
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'events_max', 'tier', 'fair', 'mode', 'epoch', 'chains', 'limits', 'fair_top')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_events_max = tonumber(row[3] or 100000), settings_tier = row[4] or 'internal', settings_fair = tonumber(row[5] or 0), settings_mode = row[6], settings_epoch = tonumber(row[7] or 0), settings_chains = row[8] == '1', settings_limits = tonumber(row[9] or 0), settings_fair_top = tonumber(row[10] or 0), counts = {}, ended = 0, told = 0, next_ms = false, limit = row[9] and {}, limited = row[9] and {}, in_line = row[9] and {}, joins = row[9] and {}, timed = row[9] and {} }
end

-- write_counts(ctx): add what this call has counted to the totals, once a call and not once a task. A number is added to its counter,
-- a table of buckets to one counter for each bucket, and the sum of its values to another.
local function write_counts(ctx) local counters = KEYS[30]
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

-- answer_waiters(ctx, id, how, value): store how a task ended under `reply:<id>` for reply_ms, and publish it. The key
-- lives twice as long; after reply_ms it is ignored.
-- EARLY
local function answer_waiters(ctx, id, how, value) local config, reply, channel = KEYS[1], KEYS[6], KEYS[29]
  ctx.reply_ms = ctx.reply_ms or tonumber(redis.call('HGET', config, 'reply_ms') or 3600000)
  redis.call('SET', reply .. id, string.format('%.0f ', ctx.now + ctx.reply_ms) .. how .. '\n' .. value,
    'PX', string.format('%.0f', math.max(2 * ctx.reply_ms, 60000)))
  redis.pcall('SPUBLISH', channel .. id, how)
end

-- push_due(lane): push a wake-up token for a due time within the next 10 s (the longest block), because blocked workers
-- do not know this time. The worker that takes the token claims, sees next_ms, and blocks until then. Also pushed while
-- the queue is paused. It expires after 60 s, but a token for ready tasks does not.
local function push_due(lane) local wake = KEYS[9]
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
local function await_deadline(ctx, id, since_ms, due) local task, deadlines = KEYS[4], KEYS[12]
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
local function make_awaited(ctx, id) local running, task, finished, dead = KEYS[2], KEYS[4], KEYS[13], KEYS[14]
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
local function await_others(ctx, id, own, place, by_index) local blocked, deadlines, dependents = KEYS[11], KEYS[12], KEYS[21]
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

-- holds_on_end(ctx, id, own): end what a task holds while it waits or runs: its deadline, its unique key and its scope.
-- READS unique scope expires_at_ms fallback_after_ms
-- WHEN own.unique or own.scope or own.expires_at_ms or own.fallback_after_ms
local function holds_on_end(ctx, id, own) local deadlines, once = KEYS[12], KEYS[16]
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
local function cancel_task(ctx, id, tied, detail) local task, finished = KEYS[4], KEYS[13]
  if tied then on_end(ctx, id, 'cancelled', '') end
  redis.call('HSET', task .. id, 'cancelled_ms', ctx.now_text)
  redis.call('ZADD', finished, ctx.now, id)
  emit(ctx, 'task.cancelled', id, detail or '')
  add_count(ctx, 'cancelled', 1)
  ctx.ended = ctx.ended + 1
end

-- find_set(id, record): the set that a task is in, and its score there; nil if it is in none or has no record.
local function find_set(id, record) local leases, ready, delayed, blocked, finished, dead = KEYS[3], KEYS[7], KEYS[10], KEYS[11], KEYS[13], KEYS[14]
  if not record then return nil end
  for _, set in ipairs({ ready .. (record.lane or 'any'), leases, finished, delayed, dead, blocked }) do
    local score = redis.call('ZSCORE', set, id)
    if score then return set, score end
  end
end

-- lane_emptied(ctx, lane): note that no task waits in this lane any more. Its wake token is deleted, but a token for a
-- due time expires by itself.
local function lane_emptied(ctx, lane) local lanes, wake, delayed, deadlines, shares = KEYS[8], KEYS[9], KEYS[10], KEYS[12], KEYS[28]
  redis.call('SREM', lanes, lane)
  if ctx.settings_fair > 0 or ctx.settings_fair_top > 0 then redis.call('EXPIRE', shares .. lane, ctx.settings_limits > 0 and 2592000 or 86400) end
  if redis.call('EXISTS', delayed, deadlines) == 0 then
    redis.call('DEL', wake .. lane)
  else
    redis.call('PEXPIRE', wake .. lane, 60000)
  end
end

-- leave_line(id, key): remove a task from a limit queue. If the queue is then empty, remove it from limit_lines.
local function leave_line(id, key) local task, waiting, limit_lines = KEYS[4], KEYS[25], KEYS[26]
  redis.call('HDEL', task .. id, 'limited_by')
  redis.call('ZREM', waiting .. key, id)
  if redis.call('EXISTS', waiting .. key) == 0 then redis.call('ZREM', limit_lines, key) end
end

-- push_control(ctx, name): leave a wake-up for a worker. It expires if no worker waits for it.
local function push_control(ctx, name) local control = KEYS[15]
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
local function state_of(ctx, set, score, record) local leases, delayed, blocked, finished, dead = KEYS[3], KEYS[10], KEYS[11], KEYS[13], KEYS[14]
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
local function cancel_children(ctx, id, last_id, last_score, stamp, limit) local task, children = KEYS[4], KEYS[20]
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
local function store_notes(ctx) local ends = KEYS[23]
  local rows = {}
  for i, note in ipairs(ctx.notes or {}) do rows[2 * i - 1], rows[2 * i] = ctx.now_text, note end
  for first = 1, #rows, 7000 do redis.call('ZADD', ends, unpack(rows, first, math.min(first + 6999, #rows))) end
  ctx.notes = nil
end

-- read_notes(ctx, limit): the oldest notes that are stored, with their times, at most limit, and whether there are any. If
-- so, those of this call are stored, too, to get their turn. As a rule there are none: the notes of a call are carried
-- out without being stored.
local function read_notes(ctx, limit) local ends = KEYS[23]
  local stored = redis.call('ZRANGE', ends, 0, limit - 1, 'WITHSCORES')
  if stored[1] and ctx.notes then
    store_notes(ctx)
    stored = redis.call('ZRANGE', ends, 0, limit - 1, 'WITHSCORES')
  end
  return stored, stored[1] ~= nil
end

-- delay_until(ctx, due_ms, id, lane): make a task delayed until due_ms. If that is within 10 s, wake a worker of the
-- lane.
local function delay_until(ctx, due_ms, id, lane) local delayed = KEYS[10]
  redis.call('ZADD', delayed, due_ms, id)
  if due_ms - ctx.now < 10000 then push_due(lane) end
end

-- move_to_dead(ctx, event, id, reason, tied, error, shown): move a task to the dead set. The caller has removed it from
-- its set, and writes the reason and the error into the record. shown: further words of the event, or nil.
local function move_to_dead(ctx, event, id, reason, tied, error, shown) local dead = KEYS[14]
  if tied then on_end(ctx, id, 'dead ' .. reason, error or '') end
  redis.call('ZADD', dead, ctx.now, id)
  emit(ctx, event, id, 'reason=' .. reason .. (shown or ''))
  add_count(ctx, 'dead', 1)
end

-- share_place(ctx, lane, user, band): the place of a user's next task with fair shares: the place claimed last in this
-- lane and band, or the end of the user's previous task if that is later. A task of a user with weight 100 % lasts
-- 1,000. config.fair_top is kept above all places, for the case that fair shares are switched off.
local function share_place(ctx, lane, user, band) local config, weights, shares = KEYS[1], KEYS[27], KEYS[28]
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
local function tell_waiting(ctx, batch) local task, blocked = KEYS[4], KEYS[11]
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
local function propagate_ends(ctx, limit) local dependents, ends = KEYS[21], KEYS[23]
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
local function chains_on_close(ctx) local ends = KEYS[23]
  local left = 100 - ctx.told
  local all = left > 0 and propagate_ends(ctx, left) < left
  store_notes(ctx)
  if ctx.next_ms and not all and redis.call('EXISTS', ends) == 1 then ctx.next_ms = ctx.now end
end

-- create_base(clock): store the layout and the clock of a new base. The clock is `test` or `server` (the default).
local function create_base(clock) local config = KEYS[1]
  redis.call('HSET', config, 'layout', 2, 'layout_min', 2, 'clock', clock == 'test' and 'test' or 'server')
end

-- is_later(made_by, stamp): whether a later item of the same call made the task with the stamp made_by.
local function is_later(made_by, stamp)
  local call, index = string.match(stamp, '^(.*)/(%d+)$')
  local other_call, other_index = string.match(made_by or '', '^(.*)/(%d+)$')
  return other_call == call and tonumber(other_index) > tonumber(index)
end

-- find_duplicate(ctx, own, stamp): find the task that a new one duplicates, and by what: an earlier answer of this call
-- (rid), its idempotency key (key), its scope, or its unique key. The third value: a later item of this call made that
-- task. nil if it is no duplicate.
local function find_duplicate(ctx, own, stamp) local task, once = KEYS[4], KEYS[16]
  local names = { 'rid', 'key', 'scope', 'unique' }
  local found = redis.call('HMGET', once, 'rid:' .. stamp, 'key:' .. (own.idempotency_key or ''),
    'scope:' .. (own.scope or ''), 'unique:' .. (own.unique or ''))
  for i, name in ipairs(names) do
    local id, until_ms, made_by = string.match(found[i] or '', '^(%S+) ?(%d*) ?(%S*)$')
    if made_by and made_by ~= '' and redis.call('HEXISTS', once, 'purged:' .. made_by) == 1 then id = nil end
    local asked = id and i > 1 and (until_ms == '' or own.after or own.needs_parent or ctx.moved)
    local row = asked and redis.call('HMGET', task .. id, 'created_ms', 'rid') or {}
    -- The key of an evicted task may still be stored.
    local stands = id and (until_ms ~= '' and tonumber(until_ms) > ctx.now or until_ms == '' and row[1])
    if stands then return id, name, is_later(row[2], stamp) end
  end
end

-- read_limits(ctx, keys): the limits for these keys: each has its own, or that of its kind (`user:*`). A rule is stored
-- as '<concurrency> <policy> <interval_ms> <burst>', with 0 for not limited. Each limit is one table per call (cached
-- in ctx.limit). room_left adds `held` and `next_ms` to it.
local function read_limits(ctx, keys) local limits = KEYS[24]
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

-- find_line(ctx, own): for a new task: the first of its limits whose queue is not empty. The task joins this queue at
-- once.
local function find_line(ctx, own) local waiting = KEYS[25]
  local limited = limits_of(ctx, own.user or '', own.tags and table.concat(own.tags, ',') or '', own.limits and table.concat(own.limits, ',') or '')
  for _, limit in ipairs(limited) do
    if ctx.in_line[limit.key] == nil then ctx.in_line[limit.key] = redis.call('EXISTS', waiting .. limit.key) == 1 end
    if ctx.in_line[limit.key] and limit.policy == 'queue' then return limit end
  end
end

-- find_missing(ctx, ids, stamp): the first of these ids whose task does not exist, or is created by a later item of
-- this call; nil if all exist. Ids that were found are not looked up again in this call.
local function find_missing(ctx, ids, stamp) local task = KEYS[4]
  for _, id in ipairs(ids) do
    if not ctx.there[id] then
      local row = redis.call('HMGET', task .. id, 'created_ms', 'rid')
      if not row[1] or is_later(row[2], stamp) then return id end
      ctx.there[id] = true
    end
  end
end

-- gathers(ctx, id): the place of a task, as text, if it waits for its children, and so gathers those that come now; otherwise
-- false. A call looks at each task once.
local function gathers(ctx, id) local task, blocked = KEYS[4], KEYS[11]
  if ctx.gathers[id] == nil then
    local score = redis.call('ZSCORE', blocked, id)
    local row = score and redis.call('HMGET', task .. id, 'gather', 'limited_by') or {}
    ctx.gathers[id] = row[1] and not row[2] and string.format('%.0f', score % BAND) or false
  end
  return ctx.gathers[id]
end

-- find_obstacle(ctx, own, stamp): the first task because of which a new one is not created: a task of `after`, or a parent that it
-- needs, that does not exist; or the parent that it is to come after, while that waits for its children: each would wait for
-- the other. nil if there is none. How many other children there are does not matter: the same call, sent again, must get the same
-- answer.
local function find_obstacle(ctx, own, stamp)
  local parent, comes_after, others = own.parent, false, false
  local missing = own.after and find_missing(ctx, own.after, stamp) or own.needs_parent and find_missing(ctx, { parent }, stamp)
  if missing or not (parent and own.after) then return missing or nil end
  for _, id in ipairs(own.after) do
    comes_after, others = comes_after or id == parent, others or id ~= parent
  end
  if comes_after and not (own.after_any and others) and gathers(ctx, parent) then return parent end
end

-- full_score(ctx): the score in limit_lines of a queue whose limit is full now: it is looked at when a lease ends, or
-- after a change of `user:*`, `tag:*` or `key:*`.
local function full_score(ctx)
  return BAND + math.max(ctx.now, ctx.settings_limits + 1)
end

-- hold_once(ctx, field, id, keep_ms, stamp): make a key of `once` refer to a task, for keep_ms or, without keep_ms,
-- until it is released. stamp: that of the enqueue that made the task, if its record does not know the key; the key no
-- longer counts once that was purged.
local function hold_once(ctx, field, id, keep_ms, stamp) local once, once_due = KEYS[16], KEYS[17]
  if not keep_ms then
    redis.call('HSET', once, field, id)
    return
  end
  local until_text = string.format('%.0f', ctx.now + keep_ms)
  redis.call('HSET', once, field, id .. ' ' .. until_text .. (stamp and ' ' .. stamp or ''))
  redis.call('ZADD', once_due, until_text, field)
  ctx.held = (ctx.held or 0) + 1
end

-- hold_keys(ctx, id, own, is_twin): store the keys of a task in `once`: the idempotency key for idempotency_ms, the
-- unique key and the scope until the task ends. is_twin: the task already existed; only the idempotency key is added.
local function hold_keys(ctx, id, own, is_twin) local config, task = KEYS[1], KEYS[4]
  if own.idempotency_key then
    ctx.keep_ms = ctx.keep_ms or redis.call('HGET', config, 'idempotency_ms') or 86400000
    local row = is_twin and redis.call('HMGET', task .. id, 'idempotency_key', 'rid', 'keys') or {}
    local second = row[1] and row[1] ~= own.idempotency_key
    hold_once(ctx, 'key:' .. own.idempotency_key, id, ctx.keep_ms, second and row[2] or nil)
    if second then
      redis.call('HSET', task .. id, 'keys', string.format('%.0f', math.max(row[3] or 0, ctx.now + ctx.keep_ms)))
    elseif is_twin then
      redis.call('HSET', task .. id, 'idempotency_key', own.idempotency_key)
    end
  end
  if own.unique and not is_twin then hold_once(ctx, 'unique:' .. own.unique, id) end
  if own.scope and not is_twin then hold_once(ctx, 'scope:' .. own.scope, id) end
end

-- is_here(own): whether a task that belongs to another partition by now has to stay here: another task of its ordering
-- key has not ended here; or, without such a key, its parent is here, or a task that it waits for.
local function is_here(own) local task, order = KEYS[4], KEYS[22]
  if own.ordering_key then return redis.call('EXISTS', order .. own.ordering_key) == 1 end
  local other = own.parent or own.after and own.after[1]
  return other and redis.call('HEXISTS', task .. other, 'created_ms') == 1
end

-- join_chains(ctx, id, own, place, by_index): let a new task wait for others (own.awaits). Its record is not written yet.
local function join_chains(ctx, id, own, place, by_index)
  own.awaits = await_others(ctx, id, own, place, by_index)
  own[#own + 1], own[#own + 2] = 'awaits', own.awaits
  ctx.gathers[id] = own.gather and string.format('%.0f', place)
end

-- join_gathering(ctx, own, parent): if the parent waits for its children, note in the record of a new child that it
-- counts, and the place of the parent, because a later task may have the same id.
local function join_gathering(ctx, own, parent)
  local place = gathers(ctx, parent)
  if place then
    own.gathered = true
    own[#own + 1], own[#own + 2] = 'gathered', place
  end
end

-- join_limit(ctx, id, score, limit, recheck_at_ms, tied): put a task into the queue of a limit, by its place.
-- recheck_at_ms: the new score of the queue in limit_lines, unless it is due earlier. The task may still expire. Its
-- fallback timer stops while it waits for the limit. write_joins stores where it waits.
local function join_limit(ctx, id, score, limit, recheck_at_ms, tied) local task, deadlines = KEYS[4], KEYS[12]
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

-- join_order(id, own, place): put a new task at the end of the line of its ordering key. Behind others it waits for its turn,
-- which comes when it is the first.
local function join_order(id, own, place) local order = KEYS[22]
  local line = order .. own.ordering_key
  own.behind = redis.call('EXISTS', line) == 1
  redis.call('ZADD', line, place, id)
  if own.behind then own[#own + 1], own[#own + 2] = 'after_when', 'ended' end
end

-- known_as(id, stamp): the answer for an id that is in use: 'created' if this call created the task (or an earlier task
-- with this id), otherwise 'exists' and whether a later item of this call created it; nil if the id is free.
local function known_as(id, stamp) local task = KEYS[4]
  local row = redis.call('HMGET', task .. id, 'rid', 'created_ms', 'earlier')
  if row[1] == stamp or string.find(' ' .. (row[3] or '') .. ' ', ' ' .. stamp .. ' ', 1, true) then return 'created' end
  if row[2] then return 'exists', is_later(row[1], stamp) end
end

-- merge_task(ctx, twin, by, stamp, own, data): answer an enqueue with an existing task. by: what both have in common
-- (`rid`, `key`, `scope`, `unique`). It stores the answer, because the call may be repeated after that task has ended.
-- With coalesce=last, the task of a scope gets the new payload, and its data tier if that is stricter.
local function merge_task(ctx, twin, by, stamp, own, data) local task, payload = KEYS[4], KEYS[5]
  if by == 'rid' then return end
  hold_once(ctx, 'rid:' .. stamp, twin, 60000)
  if by == 'key' then return end
  hold_keys(ctx, twin, own, true)
  if by == 'scope' and own.coalesce == 'last' then
    redis.call('SET', payload .. twin, data)
    redis.call('HSET', task .. twin, 'size', #data)
    local strictness = { public = 1, internal = 2, confidential = 3, restricted = 4 }
    local tier = own.tier or ctx.settings_tier
    if strictness[tier] > strictness[redis.call('HGET', task .. twin, 'tier') or 'internal'] then
      redis.call('HSET', task .. twin, 'tier', tier)
    end
  end
end

-- refuse_epoch(ctx): the error for a call that does not know the queue's current partitions.
local function refuse_epoch(ctx)
  return redis.error_reply('ADEQ_EPOCH epoch is ' .. string.format('%.0f', ctx.settings_epoch)
    .. ' here: the queue has other partitions now; read which, and send the call to the right one')
end

-- refuse_new(ctx, ids, envelopes, stamps): for a draining queue: return the error if the call would create a task. An
-- item with the answer `unknown` creates none.
local function refuse_new(ctx, ids, envelopes, stamps)
  local seen = {}
  ctx.there, ctx.gathers = {}, {}
  for i, id in ipairs(ids) do
    local own, stamp = envelopes[i], stamps[i]
    seen[id] = seen[id] or known_as(id, stamp)
    if not seen[id] and not find_duplicate(ctx, own, stamp)
      and not ((own.after or own.needs_parent) and find_obstacle(ctx, own, stamp)) then
      return redis.error_reply('ADEQ_DRAINING this queue is being drained and takes no new tasks: resume it, or use another')
    end
  end
end

-- shorten_family(ctx, id): remove links that are no longer needed. If a task is removed before its children, its stub
-- stays among its parent's children as a link, by which a cancelled tree finds them. A link without children is
-- removed. If a link's only child is a link, the child takes its place, behind all others, with the stamp of the last
-- cancelled tree. So there are fewer links than tasks.
-- LATE
local function shorten_family(ctx, id) local task, children, ends = KEYS[4], KEYS[20], KEYS[23]
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

-- sweep_once(ctx, limit): delete expired fields of `once`, at most limit. Returns the number.
local function sweep_once(ctx, limit) local once, once_due = KEYS[16], KEYS[17]
  local fields = redis.call('ZRANGE', once_due, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, limit)
  if #fields == 0 then return 0 end
  -- at most 4,010: limit, as add_tasks gives it for 1,000 items
  redis.call('ZREM', once_due, unpack(fields))
  redis.call('HDEL', once, unpack(fields))
  return #fields
end

-- write_joins(ctx, told): store which tasks have joined which limit queues since the last time. told: one event for each
-- queue says so.
local function write_joins(ctx, told) local blocked, waiting, limit_lines = KEYS[11], KEYS[25], KEYS[26]
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

  arg_made = { await_deadline = await_deadline, delay_until = delay_until, share_place = share_place, chains_on_close = chains_on_close, create_base = create_base, find_duplicate = find_duplicate, find_line = find_line, find_obstacle = find_obstacle, full_score = full_score, hold_keys = hold_keys, is_here = is_here, join_chains = join_chains, join_gathering = join_gathering, join_limit = join_limit, join_order = join_order, known_as = known_as, merge_task = merge_task, refuse_epoch = refuse_epoch, refuse_new = refuse_new, shorten_family = shorten_family, sweep_once = sweep_once, write_joins = write_joins }
  return arg_made
end

local ctx, refused = open(nil, row)
if refused then return refused end
if epoch < ctx.settings_epoch then return arg_rare().refuse_epoch(ctx) end
for i = 1, item_count do
  refused = check_parts(ctx, i, item_pairs[i])
  if refused then return refused end
end
if ctx.settings_mode == 'draining' then refused = arg_rare().refuse_new(ctx, item_id, item_pairs, stamps) end
if refused then return refused end

if known == nil then known = redis.call('EXISTS', unpack(keys)) > 0 end  -- at most 1,000: items
ctx.some_known, ctx.moved = known, moved
if not ctx.exists then arg_rare().create_base() end
if epoch > ctx.settings_epoch then redis.call('HSET', config, 'epoch', epoch) end
local answers = add_tasks(ctx, item_id, item_payload, item_pairs, stamps)
on_close(ctx)
write_counts(ctx)
return { 'ok', ctx.now, answers }
