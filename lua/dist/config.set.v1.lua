#!lua
-- generated from lua/config/set.v1.lua by lua/bundle.py; do not edit
-- config.set.v1: set values of names, or remove them, all or nothing. `expect` is the version that the caller has seen; 0: the name has no
-- value; -1: any. If one differs, the answer is `conflict`, with the present version of each name. The version of a name is the rev of the
-- call that wrote it. A rev is larger than all before it, and at least the time in µs. So it is not used again after a failover that has lost
-- writes. To remove a name that has no value is `missing`, and changes nothing. A namespace has at most
-- `names_max` names with values.
--
-- DATA   value    prefix/hash {base}:value:   id
-- DATA   history  prefix/list {base}:history: id
-- DATA   changed  zset        {base}:changed
-- DATA   removed  zset        {base}:removed
-- DATA   revs     zset        {base}:revs
-- DATA   channel  channel     {base}:channel
-- DATA   config   hash        {base}:config
-- DATA   once     hash        {base}:once
-- DATA   once_due zset        {base}:once:due
-- DATA   events   stream      {base}:events
-- ARGV   rid      id
-- ARGV   actor    label            ?=
-- ARGV   reason   bytes 0..1024    ?=
-- ARGV   source   bytes 0..200     ?=
-- ARGV   trace    bytes 0..128     ?=
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- ITEM   name     id
-- ITEM   expect   int -1..9007199254740991 ?=-1
-- ITEM   remove   bool             ?=0
-- ITEM   value    bytes 0..65536   ?=
-- GROUP  item     1..100
-- RETURN ok       now_ms:int rev:int items:list(item)
-- RETURN conflict now_ms:int items:list(current)
-- RETURN full     now_ms:int names:int
-- EACH   item     set version:int
-- EACH   item     removed version:int
-- EACH   item     missing
-- EACH   current  matches version:int
-- EACH   current  differs version:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  config.set config.removed
-- ROLE   operate
-- REPLAY rid
-- COST   14 commands and 4 for each name; at most 9,900 commands, 35,000 steps

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

local KEYS, ARGV = KEYS, ARGV
if #KEYS ~= 2 then
  return redis.error_reply('ADEQ_ARG expected 2 keys, got ' .. #KEYS)
end

do
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{config:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:config:[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{config:<name>}:config, <prefix>:{<slot>}:config:<name>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. '!operate' then return refuse('key gate', KEYS[2], arg_base .. '!operate') end
  KEYS = { arg_base .. ':value:', arg_base .. ':history:', arg_base .. ':changed', arg_base .. ':removed', arg_base .. ':revs', arg_base .. ':channel', arg_base .. ':config', arg_base .. ':once', arg_base .. ':once:due', arg_base .. ':events' }
end

local rid = ARGV[1]
if not rid or #rid > 200 or not arg_find(rid, '^[%w._:/@+-]+$') then
  return refuse('rid', rid, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local actor = ARGV[2]
if actor ~= '' and (not actor or #actor > 200 or not (arg_find(actor, '^[%w._:/@+-]+$') or arg_label(actor))) then
  return refuse('actor', actor, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
end
local reason = ARGV[3]
if not reason or #reason > 1024 then
  return refuse('reason', reason and #reason, '0 to 1024 bytes long')
end
local source = ARGV[4]
if not source or #source > 200 then
  return refuse('source', source and #source, '0 to 200 bytes long')
end
local trace = ARGV[5]
if not trace or #trace > 128 then
  return refuse('trace', trace and #trace, '0 to 128 bytes long')
end
local now_ms = ARGV[6]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[6], 'an integer from 0 to 9000000000000') end
end
local arg_at = 7
local item_count = ARGV[arg_at]
item_count = arg_uint(item_count, 1, 100)
if not item_count then return refuse('item_count', ARGV[arg_at], 'an integer from 1 to 100') end
arg_at = arg_at + 1
local item_name, item_expect, item_remove, item_value = {}, {}, {}, {}
for i = 1, item_count do
  local v = ARGV[arg_at]
  if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
    return refuse('item[' .. i .. '].name', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
  end
  item_name[i] = v
  v = ARGV[arg_at + 1]
  if v == '' then
    v = -1
  else
    v = arg_int(v, -1, 9007199254740991)
    if not v then return refuse('item[' .. i .. '].expect', ARGV[arg_at + 1], 'an integer from -1 to 9007199254740991') end
  end
  item_expect[i] = v
  v = ARGV[arg_at + 2]
  if v ~= '0' and v ~= '1' and v ~= '' then
    return refuse('item[' .. i .. '].remove', v, '0 or 1')
  end
  v = v == '1'
  item_remove[i] = v
  v = ARGV[arg_at + 3]
  if not v or #v > 65536 then
    return refuse('item[' .. i .. '].value', v and #v, '0 to 65536 bytes long')
  end
  item_value[i] = v
  arg_at = arg_at + 4
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end

local arg_rare

-- answer_of(ctx, word): the answer of a call, from what is remembered of it: `full:<names>`; `conflict:` with m (matches) or d (differs) and
-- the version of each name; `ok:<rev>:` with s (set), r (removed) or m (missing) for each name.
-- EARLY
local function answer_of(ctx, word)
  local status, rest = string.match(word, '^(%a+):(.*)$')
  local items = {}
  if status == 'full' then return { 'full', ctx.now, tonumber(rest) } end
  if status == 'conflict' then
    for letter, version in string.gmatch(rest, '(%a)(%d+)') do
      items[#items + 1] = { letter == 'm' and 'matches' or 'differs', tonumber(version) }
    end
    return { 'conflict', ctx.now, items }
  end
  local rev_text, letters = string.match(rest, '^(%d+):(%a+)$')
  local rev = tonumber(rev_text)
  for letter in string.gmatch(letters, '%a') do
    items[#items + 1] = letter == 's' and { 'set', rev } or letter == 'r' and { 'removed', rev } or { 'missing' }
  end
  return { 'ok', ctx.now, rev, items }
end

-- hold_once(ctx, field, id, keep_ms, stamp): make a key of `once` refer to a task, for keep_ms or, without keep_ms,
-- until it is released. stamp: that of the enqueue that made the task, if its record does not know the key; the key no
-- longer counts once that was purged.
local function hold_once(ctx, field, id, keep_ms, stamp) local once, once_due = KEYS[8], KEYS[9]
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
local function sweep_once(ctx, limit) local once, once_due = KEYS[8], KEYS[9]
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

-- conclude(ctx, word): answer a call, and remember the answer for the case that the call is sent again. word: see answer_of.
-- EARLY
local function conclude(ctx, word)
  if not ctx.exists then arg_rare().create_base() end
  note_done(ctx, 'set', word)
  return answer_of(ctx, word)
end

-- done_before(ctx, verb): the answer that an earlier call with this verb and rid stored in the last minute, or nil.
local function done_before(ctx, verb) local once = KEYS[8]
  if rid == '' then return nil end
  local word, until_ms = string.match(redis.call('HGET', once, 'done:' .. verb .. ':' .. rid) or '', '^(%S+) (%d+)$')
  if word and tonumber(until_ms) > ctx.now then return word end
end

-- read_clock(layout_min, clock, chosen): the time in ms, as a number and as text; or nil and the error to return, if
-- the layout of these scripts or the clock of the call does not fit the stored data. chosen: the clock of a base that
-- this call may create.
local function read_clock(layout_min, clock, chosen)
  if tonumber(layout_min or 1) > 1 then
    return nil, redis.error_reply('ADEQ_LAYOUT this data needs scripts of layout ' .. layout_min
      .. ' or newer, these are of layout ' .. 1 .. ': upgrade this client')
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
local function open(clock, row) local config = KEYS[7]
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'events_max', 'names_max', 'removed_ms', 'rev')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_events_max = tonumber(row[3] or 1000), settings_names_max = tonumber(row[4] or 10000), settings_removed_ms = tonumber(row[5] or 86400000), settings_rev = tonumber(row[6] or 0) }
end

-- read_record(name): what is stored of a name: version, at_ms, actor, reason, size, and value or removed. All are texts; version is false
-- if nothing is stored.
-- EARLY
local function read_record(name) local value = KEYS[1]
  local row = redis.call('HMGET', value .. name, 'version', 'at_ms', 'actor', 'reason', 'size', 'removed', 'value')
  return { version = row[1], at_ms = row[2], actor = row[3], reason = row[4], size = row[5], removed = row[6], value = row[7] }
end

local arg_made
function arg_rare()
  if arg_made then return arg_made end

-- create_base(clock): store the layout and the clock of a new base. The clock is `test` or `server` (the default).
local function create_base(clock) local config = KEYS[7]
  redis.call('HSET', config, 'layout', 1, 'layout_min', 1, 'clock', clock == 'test' and 'test' or 'server')
end

-- emit(ctx, event, id, detail): add an entry to the stream, if the noun keeps events. detail: `name=value` words, or
-- ''. The trace is ctx.trace, that of the task, or else that of the call.
local function emit(ctx, event, id, detail) local events = KEYS[10]
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

-- entry_text(record): a version of a name as its history has it.
local function entry_text(record)
  return table.concat({ record.version, record.at_ms, record.value and 'value' or 'removed', #record.actor, #record.reason,
    record.actor .. record.reason .. (record.value or '') }, ' ')
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

-- forget_removed(ctx, limit): delete what is left of names that were removed long ago, or of the oldest if there are more than `names_max`;
-- at most limit. Returns the number. Who has read an older rev has to read all again.
local function forget_removed(ctx, limit) local value, history, changed, removed, revs = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
  local names = oldest_beyond(ctx, removed, ctx.settings_removed_ms, ctx.settings_names_max, limit)
  if #names == 0 then return 0 end
  local newest = 0
  for _, name in ipairs(names) do
    newest = math.max(newest, tonumber(redis.call('ZSCORE', changed, name) or 0))
    redis.call('UNLINK', value .. name, history .. name)
  end
  redis.call('ZREM', changed, unpack(names))  -- at most 1,000: limit
  redis.call('ZREM', removed, unpack(names))
  redis.call('ZREMRANGEBYSCORE', revs, '-inf', string.format('(%.0f', newest))
  return #names
end

-- keep_version(name, record): put a version into the history of its name, and drop what is too much there. Returns the bytes of the history.
local function keep_version(name, record) local history = KEYS[2]
  local entry = entry_text(record)
  local kept = redis.call('LPUSH', history .. name, entry)
  local size = kept > 1 and tonumber(record.size) + #entry or #entry
  while kept > 99 or size > 1048576 do  -- at most 100: entries of a history. One alone is smaller
    size = size - #redis.call('RPOP', history .. name)
    kept = kept - 1
  end
  return size
end

-- write_version(ctx, name, record, version, new): store a new version of a name, and put the one before into its history. record: as
-- read_record gives it. new: the value, or false to remove the name.
local function write_version(ctx, name, record, version, new) local value, changed, removed = KEYS[1], KEYS[3], KEYS[4]
  local size = record.version and keep_version(name, record) or 0
  redis.call('HSET', value .. name, 'version', version, 'at_ms', ctx.now_text, 'actor', actor, 'reason', reason, 'size',
    string.format('%.0f', size), new and 'value' or 'removed', new or '1')
  redis.call('ZADD', changed, version, name)
  if new then
    if record.removed then
      redis.call('HDEL', value .. name, 'removed')
      redis.call('ZREM', removed, name)
    end
  else
    redis.call('HDEL', value .. name, 'value')
    redis.call('ZADD', removed, ctx.now_text, name)
  end
  emit(ctx, new and 'config.set' or 'config.removed', name, 'version=' .. version .. (actor ~= '' and ' by=' .. actor or ''))
end

  arg_made = { create_base = create_base, forget_removed = forget_removed, write_version = write_version }
  return arg_made
end

local changed, removed, revs, channel, config = KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]

local ctx, refused = open()
if refused then return refused end
local named = {}
for i, name in ipairs(item_name) do
  if named[name] then return refuse('item[' .. i .. '].name', name, 'each name once in a call') end
  if item_remove[i] and item_value[i] ~= '' then
    return refuse('item[' .. i .. '].remove', '1', '0 for a name with a value')
  end
  named[name] = true
end
local before = done_before(ctx, 'set')
if before then return answer_of(ctx, before) end

local records, versions, differs, added = {}, {}, false, 0
for i, name in ipairs(item_name) do
  local record = read_record(name)
  local version = record.value and record.version or '0'
  local matches = item_expect[i] < 0 or item_expect[i] == tonumber(version)
  differs = differs or not matches
  if (version == '0') ~= item_remove[i] then added = added + (item_remove[i] and -1 or 1) end
  records[i], versions[i] = record, (matches and 'm' or 'd') .. version
end
if differs then return conclude(ctx, 'conflict:' .. table.concat(versions, ',')) end
local names = redis.call('ZCARD', changed) - redis.call('ZCARD', removed)
if added > 0 and names + added > ctx.settings_names_max then return conclude(ctx, 'full:' .. names) end

local rev = math.max(ctx.settings_rev + 1, ctx.now * 1000)
local rev_text, done, writes = string.format('%.0f', rev), {}, false
for i, name in ipairs(item_name) do
  if item_remove[i] and not records[i].value then
    done[i] = 'm'
  else
    done[i], writes = item_remove[i] and 'r' or 's', true
    arg_rare().write_version(ctx, name, records[i], rev_text, not item_remove[i] and item_value[i])
  end
end
if writes then
  redis.call('HSET', config, 'rev', rev_text)
  redis.call('ZADD', revs, rev_text, rev_text)
  redis.call('ZREMRANGEBYRANK', revs, 0, -1001)
  arg_rare().forget_removed(ctx, item_count + 10)
  redis.pcall('SPUBLISH', channel, 'changed:' .. rev_text)
else
  rev_text = string.format('%.0f', ctx.settings_rev)
end
return conclude(ctx, 'ok:' .. rev_text .. ':' .. table.concat(done))
