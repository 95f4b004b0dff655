#!lua
-- generated from lua/queue/configure.v1.lua by lua/bundle.py; do not edit
-- queue.configure.v1: change settings of a queue, and create it if it does not exist. The clock is chosen once, at
-- creation. If the same call is sent again, it changes nothing. Without settings, it returns the stored ones; all
-- others have their defaults. `expect` is the `digest` that the caller has read. If the stored settings have another
-- one, the call is refused (`ADEQ_STALE`) and nothing is changed.
--
-- DATA   config   hash {base}:config
-- DATA   once     hash {base}:once
-- DATA   once_due zset {base}:once:due
-- ARGV   rid       id            ?=
-- ARGV   clock     enum keep|server|test ?=keep
-- ARGV   now_ms    int 0..       ?=0
-- SETTINGS settings
-- PAIR   settings.expect bytes 16..16
-- GROUP  settings  0..1
-- RETURN ok        now_ms:int settings:pairs(settings)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK ADEQ_CONFLICT ADEQ_STALE
-- ROLE   operate
-- REPLAY rid
-- COST   11 commands; at most 13 commands, 410 steps

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
  if KEYS[2] ~= arg_base .. '!operate' then return refuse('key gate', KEYS[2], arg_base .. '!operate') end
  KEYS = { arg_base .. ':config', arg_base .. ':once', arg_base .. ':once:due' }
end

local rid = ARGV[1]
if rid ~= '' and (not rid or #rid > 200 or not arg_find(rid, '^[%w._:/@+-]+$')) then
  return refuse('rid', rid, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local clock = ARGV[2]
if clock == '' then
  clock = 'keep'
elseif clock ~= 'keep' and clock ~= 'server' and clock ~= 'test' then
  return refuse('clock', clock, 'one of keep, server, test')
end
local now_ms = ARGV[3]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9007199254740991)
  if not now_ms then return refuse('now_ms', ARGV[3], 'an integer from 0 to 9007199254740991') end
end
local arg_at = 4
local settings_count = ARGV[arg_at]
settings_count = arg_uint(settings_count, 0, 1)
if not settings_count then return refuse('settings_count', ARGV[arg_at], 'an integer from 0 to 1') end
arg_at = arg_at + 1
local settings_pairs = arg_empty
if settings_count > 0 then settings_pairs = {} end
local arg_seen_settings
for i = 1, settings_count do
  local size, entry = ARGV[arg_at], arg_empty
  arg_at = arg_at + 1
  if size ~= '0' then
    size = size and #size == 1 and arg_find('123456789', size, 1, true) or arg_uint(size, 0, 26)
    if not size then return refuse('settings[' .. i .. '].pairs', ARGV[arg_at - 1], 'an integer from 0 to 26') end
    arg_seen_settings = arg_seen_settings or {}
    local filled = 0
    for at = arg_at, arg_at + 2 * size - 2, 2 do
      local name, raw = ARGV[at], ARGV[at + 1]
      local v = raw
      if name == 'lease_ms' then
        v = arg_uint(v, 1000, 86400000)
        if not v then return refuse('settings[' .. i .. '].lease_ms', raw, 'an integer from 1000 to 86400000') end
      elseif name == 'max_attempts' then
        v = arg_uint(v, 1, 1000)
        if not v then return refuse('settings[' .. i .. '].max_attempts', raw, 'an integer from 1 to 1000') end
      elseif name == 'max_crashes' then
        v = arg_uint(v, 1, 1000)
        if not v then return refuse('settings[' .. i .. '].max_crashes', raw, 'an integer from 1 to 1000') end
      elseif name == 'backoff_base_ms' then
        v = arg_uint(v, 0, 86400000)
        if not v then return refuse('settings[' .. i .. '].backoff_base_ms', raw, 'an integer from 0 to 86400000') end
      elseif name == 'backoff_multiplier_pct' then
        v = arg_uint(v, 100, 10000)
        if not v then return refuse('settings[' .. i .. '].backoff_multiplier_pct', raw, 'an integer from 100 to 10000') end
      elseif name == 'backoff_cap_ms' then
        v = arg_uint(v, 0, 604800000)
        if not v then return refuse('settings[' .. i .. '].backoff_cap_ms', raw, 'an integer from 0 to 604800000') end
      elseif name == 'jitter_pct' then
        v = arg_uint(v, 0, 100)
        if not v then return refuse('settings[' .. i .. '].jitter_pct', raw, 'an integer from 0 to 100') end
      elseif name == 'events_max' then
        v = arg_uint(v, 0, 10000000)
        if not v then return refuse('settings[' .. i .. '].events_max', raw, 'an integer from 0 to 10000000') end
      elseif name == 'events_keep_ms' then
        v = arg_uint(v, 1000, 315360000000)
        if not v then return refuse('settings[' .. i .. '].events_keep_ms', raw, 'an integer from 1000 to 315360000000') end
      elseif name == 'events_error_max' then
        v = arg_uint(v, 0, 1000)
        if not v then return refuse('settings[' .. i .. '].events_error_max', raw, 'an integer from 0 to 1000') end
      elseif name == 'presence_ms' then
        v = arg_uint(v, 15000, 86400000)
        if not v then return refuse('settings[' .. i .. '].presence_ms', raw, 'an integer from 15000 to 86400000') end
      elseif name == 'finished_keep_ms' then
        v = arg_uint(v, 0, 315360000000)
        if not v then return refuse('settings[' .. i .. '].finished_keep_ms', raw, 'an integer from 0 to 315360000000') end
      elseif name == 'finished_max' then
        v = arg_uint(v, 0, 100000000)
        if not v then return refuse('settings[' .. i .. '].finished_max', raw, 'an integer from 0 to 100000000') end
      elseif name == 'dead_keep_ms' then
        v = arg_uint(v, 0, 315360000000)
        if not v then return refuse('settings[' .. i .. '].dead_keep_ms', raw, 'an integer from 0 to 315360000000') end
      elseif name == 'dead_max' then
        v = arg_uint(v, 0, 100000000)
        if not v then return refuse('settings[' .. i .. '].dead_max', raw, 'an integer from 0 to 100000000') end
      elseif name == 'result_ms' then
        v = arg_uint(v, 0, 315360000000)
        if not v then return refuse('settings[' .. i .. '].result_ms', raw, 'an integer from 0 to 315360000000') end
      elseif name == 'payload_ms' then
        v = arg_uint(v, 0, 315360000000)
        if not v then return refuse('settings[' .. i .. '].payload_ms', raw, 'an integer from 0 to 315360000000') end
      elseif name == 'idempotency_ms' then
        v = arg_uint(v, 1000, 315360000000)
        if not v then return refuse('settings[' .. i .. '].idempotency_ms', raw, 'an integer from 1000 to 315360000000') end
      elseif name == 'reply_ms' then
        v = arg_uint(v, 1000, 315360000000)
        if not v then return refuse('settings[' .. i .. '].reply_ms', raw, 'an integer from 1000 to 315360000000') end
      elseif name == 'timeout_ms' then
        v = arg_uint(v, 0, 315360000000)
        if not v then return refuse('settings[' .. i .. '].timeout_ms', raw, 'an integer from 0 to 315360000000') end
      elseif name == 'timeout_grace_ms' then
        v = arg_uint(v, 0, 86400000)
        if not v then return refuse('settings[' .. i .. '].timeout_grace_ms', raw, 'an integer from 0 to 86400000') end
      elseif name == 'tier' then
        if v ~= 'public' and v ~= 'internal' and v ~= 'confidential' and v ~= 'restricted' then
          return refuse('settings[' .. i .. '].tier', v, 'one of public, internal, confidential, restricted')
        end
      elseif name == 'steps_max' then
        v = arg_uint(v, 1, 10000)
        if not v then return refuse('settings[' .. i .. '].steps_max', raw, 'an integer from 1 to 10000') end
      elseif name == 'steps_bytes' then
        v = arg_uint(v, 1024, 4194304)
        if not v then return refuse('settings[' .. i .. '].steps_bytes', raw, 'an integer from 1024 to 4194304') end
      elseif name == 'fair' then
        if v ~= '0' and v ~= '1' then
          return refuse('settings[' .. i .. '].fair', v, '0 or 1')
        end
        v = v == '1'
      elseif name == 'expect' then
        if not v or #v < 16 or #v > 16 then
          return refuse('settings[' .. i .. '].expect', v and #v, '16 to 16 bytes long')
        end
      else
        return refuse('settings[' .. i .. '].pairs', name, 'names from lease_ms, max_attempts, max_crashes, backoff_base_ms, backoff_multiplier_pct, backoff_cap_ms, jitter_pct, events_max, events_keep_ms, events_error_max, presence_ms, finished_keep_ms, finished_max, dead_keep_ms, dead_max, result_ms, payload_ms, idempotency_ms, reply_ms, timeout_ms, timeout_grace_ms, tier, steps_max, steps_bytes, fair, expect')
      end
      if arg_seen_settings[name] == i then
        return refuse('settings[' .. i .. '].' .. name, 2, 'given at most once')
      end
      arg_seen_settings[name] = i
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
  settings_pairs[i] = entry
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end

local arg_rare

-- change_settings(ctx, clock, changes): store these settings, the pairs of a call, and create the base if there is none.
local function change_settings(ctx, clock, changes) local config = KEYS[1]
  if not ctx.exists then arg_rare().create_base(ctx.settings_clock or clock) end  -- a base that has lost its layout keeps its clock
  if #changes > 0 then redis.call('HSET', config, unpack(changes)) end  -- at most 100: two for each setting
end

-- digest_of(text): what `expect` compares: 16 hex digits; `none` if nothing is stored.
local function digest_of(text)
  return text and string.sub(redis.sha1hex(text), 1, 16) or 'none'
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'timeout_ms', 'fair', 'fair_top')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_timeout_ms = tonumber(row[3] or 0), settings_fair = tonumber(row[4] or 0), settings_clock = row[2], settings_fair_top = tonumber(row[5] or 0) }
end

-- open_to_configure(clock): open a call that may create the base with this clock; or nil and the error to return, also
-- if the base has the other clock.
local function open_to_configure(clock)
  local ctx, refused = open(clock)
  if refused then return nil, refused end
  local stored = ctx.settings_clock
  if stored and clock ~= 'keep' and clock ~= stored then
    return nil, redis.error_reply('ADEQ_CONFLICT clock is ' .. stored .. ' since this ' .. 'queue'
      .. ' was created, and cannot become ' .. clock)
  end
  return ctx
end

-- settings_digest(): the digest of the stored settings. It is the same for equal settings.
local function settings_digest() local config = KEYS[1]
  local row = redis.call('HMGET', config, 'lease_ms', 'max_attempts', 'max_crashes', 'backoff_base_ms', 'backoff_multiplier_pct', 'backoff_cap_ms', 'jitter_pct', 'events_max', 'events_keep_ms', 'events_error_max', 'presence_ms', 'finished_keep_ms', 'finished_max', 'dead_keep_ms', 'dead_max', 'result_ms', 'payload_ms', 'idempotency_ms', 'reply_ms', 'timeout_ms', 'timeout_grace_ms', 'tier', 'steps_max', 'steps_bytes', 'fair')
  for i = 1, #row do row[i] = row[i] or '' end
  return digest_of(table.concat(row, ' '))
end

-- settings_reply(ctx): the answer of a call that returns the settings: what `config` holds, and their digest.
local function settings_reply(ctx) local config = KEYS[1]
  local stored = redis.call('HGETALL', config)  -- at most 50: settings, counters and marks
  stored[#stored + 1] = 'digest'
  stored[#stored + 1] = settings_digest()
  return { 'ok', ctx.now, stored }
end

-- take_expect(changes): take `expect` out of the settings that a call changes; nil if it has none.
local function take_expect(changes)
  for i = 1, #changes, 2 do
    if changes[i] == 'expect' then
      table.remove(changes, i)
      return table.remove(changes, i)
    end
  end
end

local arg_made
function arg_rare()
  if arg_made then return arg_made end

-- create_base(clock): store the layout and the clock of a new base. The clock is `test` or `server` (the default).
local function create_base(clock) local config = KEYS[1]
  redis.call('HSET', config, 'layout', 2, 'layout_min', 2, 'clock', clock == 'test' and 'test' or 'server')
end

-- done_before(ctx, verb): the answer that an earlier call with this verb and rid stored in the last minute, or nil.
local function done_before(ctx, verb) local once = KEYS[2]
  if rid == '' then return nil end
  local word, until_ms = string.match(redis.call('HGET', once, 'done:' .. verb .. ':' .. rid) or '', '^(%S+) (%d+)$')
  if word and tonumber(until_ms) > ctx.now then return word end
end

-- hold_once(ctx, field, id, keep_ms, stamp): make a key of `once` refer to a task, for keep_ms or, without keep_ms,
-- until it is released. stamp: that of the enqueue that made the task, if its record does not know the key; the key no
-- longer counts once that was purged.
local function hold_once(ctx, field, id, keep_ms, stamp) local once, once_due = KEYS[2], KEYS[3]
  if not keep_ms then
    redis.call('HSET', once, field, id)
    return
  end
  local until_text = string.format('%.0f', ctx.now + keep_ms)
  redis.call('HSET', once, field, id .. ' ' .. until_text .. (stamp and ' ' .. stamp or ''))
  redis.call('ZADD', once_due, until_text, field)
  ctx.held = (ctx.held or 0) + 1
end

-- sweep_once(ctx, limit): delete expired fields of `once`, at most limit. Returns the number.
local function sweep_once(ctx, limit) local once, once_due = KEYS[2], KEYS[3]
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

-- refuse_stale(label, expect, found): the error if what is stored is not what the caller has seen; nil if it is. Both are
-- digests.
local function refuse_stale(label, expect, found)
  if expect ~= found then
    return redis.error_reply('ADEQ_STALE ' .. label .. ': what is stored has the digest ' .. found)
  end
end

-- set_fair(ctx, changes): switch fair shares on or off, once: the setting stores the first fair place, or 0 for off.
-- Tasks that are enqueued after the change are placed behind all waiting tasks. fair_top stays above 0 after switching
-- off, so that lane_emptied still deletes the shares of a lane.
local function set_fair(ctx, changes) local config = KEYS[1]
  local place = math.max(tonumber(redis.call('HGET', config, 'place') or 0), ctx.settings_fair_top)
  local value = string.format('%.0f', ctx.settings_fair)
  if changes.fair and ctx.settings_fair == 0 then value = string.format('%.0f', place + 1) end
  if ctx.settings_fair > 0 and not changes.fair then
    value = '0'
    local top = string.format('%.0f', place)
    redis.call('HSET', config, 'place', top, 'fair_top', top)
  end
  for i = 1, #changes, 2 do
    if changes[i] == 'fair' then changes[i + 1] = value end
  end
end

  arg_made = { create_base = create_base, done_before = done_before, note_done = note_done, refuse_stale = refuse_stale, set_fair = set_fair }
  return arg_made
end

local config = KEYS[1]

local ctx, refused = open_to_configure(clock)
if refused then return refused end
local changes = settings_pairs[1] or {}
if #changes > 0 and arg_rare().done_before(ctx, 'configure') then changes = {} end
local expect = take_expect(changes)
refused = expect and arg_rare().refuse_stale('settings[1].expect', expect, settings_digest())
if refused then return refused end
if changes.fair ~= nil then arg_rare().set_fair(ctx, changes) end
change_settings(ctx, clock, changes)
if changes.timeout_ms and tonumber(changes.timeout_ms) ~= ctx.settings_timeout_ms then
  redis.call('HSET', config, 'timeout_set_ms', ctx.now_text)
end
if #changes > 0 then arg_rare().note_done(ctx, 'configure', 'done') end
return settings_reply(ctx)
