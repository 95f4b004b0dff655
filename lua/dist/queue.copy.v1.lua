#!lua
-- generated from lua/queue/copy.v1.lua by lua/bundle.py; do not edit
-- queue.copy.v1: write the copy of a queue of another server, a part in each call. `begin` closes the base: until `end`,
-- every other script refuses it (ADEQ_LAYOUT), so no client sees a copy that is half written. `begin` refuses a queue that
-- is no copy (`taken`), or a copy in use (`in_use`): not paused, or with a higher `place` or `fence` than those given, which
-- are those of the source. For 7 days a copy may be opened and written again, and one that is closed may always go on.
-- `write` writes keys, with their entries in the order of the keys. `name` is the part behind the base. `at` is how many
-- entries were written before; 0: the key is written anew. Type `none` deletes the key. If a key that should go on is
-- gone, it is left out. An entry is a field and its value; a member and its score; or a text, without a value. In a
-- stream it is an id and the number of its fields, which follow; 0: the id is the last that was given. `end` stores the
-- entries as `config` and opens the base. It is paused.
--
-- DATA   config hash   {base}:config
-- DATA   copied string {base}:copied
-- ARGV   step      enum begin|write|end
-- ARGV   place     int 0..       ?=0
-- ARGV   fence     int 0..       ?=0
-- ARGV   clock     enum keep|server|test ?=keep
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   key.name  bytes 1..500
-- ITEM   key.type  enum none|hash|zset|set|list|string|stream
-- ITEM   key.at    int 0..
-- ITEM   key.expires_ms int 0..
-- ITEM   key.entries int 0..1000
-- ITEM   entry.name bytes 0..8388608
-- ITEM   entry.value bytes 0..8388608 ?=
-- RETURN ok        now_ms:int
-- RETURN taken     now_ms:int
-- RETURN in_use    now_ms:int
-- RETURN closed    now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   operate
-- REPLAY idempotent
-- COST   3 + 3k + n commands; at most 2,300 commands, 40,000 steps

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
  KEYS = { arg_base .. ':config', arg_base .. ':copied' }
end

local step = ARGV[1]
if step ~= 'begin' and step ~= 'write' and step ~= 'end' then
  return refuse('step', step, 'one of begin, write, end')
end
local place = ARGV[2]
if place == '' then
  place = 0
else
  place = arg_uint(place, 0, 9007199254740991)
  if not place then return refuse('place', ARGV[2], 'an integer from 0 to 9007199254740991') end
end
local fence = ARGV[3]
if fence == '' then
  fence = 0
else
  fence = arg_uint(fence, 0, 9007199254740991)
  if not fence then return refuse('fence', ARGV[3], 'an integer from 0 to 9007199254740991') end
end
local clock = ARGV[4]
if clock == '' then
  clock = 'keep'
elseif clock ~= 'keep' and clock ~= 'server' and clock ~= 'test' then
  return refuse('clock', clock, 'one of keep, server, test')
end
local now_ms = ARGV[5]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9007199254740991)
  if not now_ms then return refuse('now_ms', ARGV[5], 'an integer from 0 to 9007199254740991') end
end
local arg_at = 6
local arg_bytes = 0
local key_count = ARGV[arg_at]
key_count = arg_uint(key_count, 0, 1000)
if not key_count then return refuse('key_count', ARGV[arg_at], 'an integer from 0 to 1000') end
arg_at = arg_at + 1
local key_name, key_type, key_at, key_expires_ms, key_entries = arg_empty, arg_empty, arg_empty, arg_empty, arg_empty
if key_count > 0 then key_name, key_type, key_at, key_expires_ms, key_entries = {}, {}, {}, {}, {} end
for i = 1, key_count do
  local v = ARGV[arg_at]
  if not v or #v < 1 or #v > 500 then
    return refuse('key[' .. i .. '].name', v and #v, '1 to 500 bytes long')
  end
  arg_bytes = arg_bytes + #v
  key_name[i] = v
  v = ARGV[arg_at + 1]
  if v ~= 'none' and v ~= 'hash' and v ~= 'zset' and v ~= 'set' and v ~= 'list' and v ~= 'string' and v ~= 'stream' then
    return refuse('key[' .. i .. '].type', v, 'one of none, hash, zset, set, list, string, stream')
  end
  key_type[i] = v
  v = ARGV[arg_at + 2]
  v = arg_uint(v, 0, 9007199254740991)
  if not v then return refuse('key[' .. i .. '].at', ARGV[arg_at + 2], 'an integer from 0 to 9007199254740991') end
  key_at[i] = v
  v = ARGV[arg_at + 3]
  v = arg_uint(v, 0, 9007199254740991)
  if not v then return refuse('key[' .. i .. '].expires_ms', ARGV[arg_at + 3], 'an integer from 0 to 9007199254740991') end
  key_expires_ms[i] = v
  v = ARGV[arg_at + 4]
  v = arg_uint(v, 0, 1000)
  if not v then return refuse('key[' .. i .. '].entries', ARGV[arg_at + 4], 'an integer from 0 to 1000') end
  key_entries[i] = v
  arg_at = arg_at + 5
end
local entry_count = ARGV[arg_at]
entry_count = arg_uint(entry_count, 0, 1000)
if not entry_count then return refuse('entry_count', ARGV[arg_at], 'an integer from 0 to 1000') end
arg_at = arg_at + 1
local entry_name, entry_value = arg_empty, arg_empty
if entry_count > 0 then entry_name, entry_value = {}, {} end
for i = 1, entry_count do
  local v = ARGV[arg_at]
  if not v or #v > 8388608 then
    return refuse('entry[' .. i .. '].name', v and #v, '0 to 8388608 bytes long')
  end
  arg_bytes = arg_bytes + #v
  entry_name[i] = v
  v = ARGV[arg_at + 1]
  if not v or #v > 8388608 then
    return refuse('entry[' .. i .. '].value', v and #v, '0 to 8388608 bytes long')
  end
  arg_bytes = arg_bytes + #v
  entry_value[i] = v
  arg_at = arg_at + 2
end
if key_count + entry_count > 1000 then
  return refuse('key_count + entry_count', key_count + entry_count, 'at most 1000')
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end
if arg_bytes > 16777216 then
  return refuse('the items of a call', arg_bytes, 'at most 16777216 bytes')
end

-- is_above(id, other): whether the id of an event is greater than another one.
local function is_above(id, other)
  local ms, number = string.match(id, '^(%d+)%-(%d+)$')
  local other_ms, other_number = string.match(other, '^(%d+)%-(%d+)$')
  if ms ~= other_ms then return tonumber(ms) > tonumber(other_ms) end
  return tonumber(number) > tonumber(other_number)
end

-- check_stream(first, last): nil if these entries are those of a stream, else the error to return. Each id is followed by
-- its fields, and the ids rise; the last may be an id without fields, of an entry that was deleted.
local function check_stream(first, last)
  local j, before = first, '0-0'
  while j <= last do  -- at most 1,000: the items of a call
    local id, count = entry_name[j], entry_value[j]
    if not (#id <= 33 and string.find(id, '^%d+%-%d+$')) then return refuse('entry[' .. j .. '].name', id, 'the id of an event') end
    local size = #count <= 4 and string.find(count, '^%d+$') and tonumber(count) or 1000
    local is_last = size == 0 and j == last
    if j + size > last or (size == 0 and not is_last) then
      return refuse('entry[' .. j .. '].value', count, 'the number of entries that follow, which are its fields')
    end
    if not is_above(id, before) and not (is_last and id == before) then
      return refuse('entry[' .. j .. '].name', id, 'above the id before it, ' .. before)
    end
    before = id
    j = j + size + 1
  end
end

-- check_copied(): nil if the keys and entries of this call can be written, else the error to return.
local function check_copied()
  local last, seen = 0, { config = true, copied = true }
  for i = 1, key_count do
    local name, kind, count = key_name[i], key_type[i], key_entries[i]
    if seen[name] then return refuse('key[' .. i .. '].name', name, 'given once, and not config or copied') end
    seen[name] = true
    if (kind == 'none' and count > 0) or (kind == 'string' and (count > 1 or key_at[i] > 0)) then
      return refuse('key[' .. i .. '].entries', count, 'what a key of this type can have')
    end
    local first = last + 1
    last = last + count
    if last > entry_count then break end
    if kind == 'stream' then
      local refused = check_stream(first, last)
      if refused then return refused end
    elseif kind == 'zset' then
      for j = first, last do
        local score = entry_value[j]
        if not (string.find(score, '^%-?%d+%.?%d*$') or string.find(score, '^%-?%d+%.?%d*e[+-]?%d%d?$')) then
          return refuse('entry[' .. j .. '].value', score, 'a score: a decimal number')
        end
      end
    end
  end
  if last ~= entry_count then return refuse('entry_count', entry_count, 'the sum of the entries of all keys') end
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

-- write_entries(key, kind, first, last): add these entries of the call to a key that is no stream.
local function write_entries(key, kind, first, last)
  local words = {}
  for j = first, last do
    if kind == 'hash' then
      words[#words + 1], words[#words + 2] = entry_name[j], entry_value[j]
    elseif kind == 'zset' then
      words[#words + 1], words[#words + 2] = entry_value[j], entry_name[j]
    else
      words[#words + 1] = entry_name[j]
    end
  end
  if kind == 'hash' then
    redis.call('HSET', key, unpack(words))  -- at most 2,000: two for each item of a call
  elseif kind == 'zset' then
    redis.call('ZADD', key, unpack(words))  -- at most 2,000: two for each item of a call
  elseif kind == 'set' then
    redis.call('SADD', key, unpack(words))  -- at most 2,000: two for each item of a call
  elseif kind == 'list' then
    redis.call('RPUSH', key, unpack(words))  -- at most 2,000: two for each item of a call
  else
    redis.call('SET', key, words[1])
  end
end

-- write_stream(key, at, first, last): add these entries of the call to a stream; without those that an earlier sending of
-- the call has added.
local function write_stream(key, at, first, last)
  local newest = at > 0 and redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
  local top, j = newest and newest[1] or '0-0', first
  while j <= last do  -- at most 1,000: the items of a call
    local id, size, words = entry_name[j], tonumber(entry_value[j]), {}
    for k = j + 1, j + size do
      words[#words + 1], words[#words + 2] = entry_name[k], entry_value[k]
    end
    if size > 0 then
      if is_above(id, top) then redis.call('XADD', key, id, unpack(words)) end  -- at most 2,000: two for each item of a call
    elseif at > 0 or j > first then
      if id == top or is_above(id, top) then redis.call('XSETID', key, id) end
    else  -- all entries of the stream were deleted
      redis.call('XADD', key, id, '-', '-')
      redis.call('XDEL', key, id)
    end
    j = j + size + 1
  end
end

-- write_copied(): write the keys of this call, by commands of their types. A call that is sent again writes the same.
local function write_copied() local config = KEYS[1]
  local last = 0
  for i = 1, key_count do
    local key, kind, at, first = string.sub(config, 1, -7) .. key_name[i], key_type[i], key_at[i], last + 1
    last = last + key_entries[i]
    if at == 0 then redis.call('UNLINK', key) end
    if at == 0 or redis.call('TYPE', key).ok == kind then
      if kind == 'stream' and first <= last then
        write_stream(key, at, first, last)
      elseif first <= last then
        if kind == 'list' and at > 0 then redis.call('LTRIM', key, 0, at - 1) end
        write_entries(key, kind, first, last)
      end
      if key_expires_ms[i] > 0 then redis.call('PEXPIREAT', key, key_expires_ms[i]) end
    end
  end
end

local config, copied = KEYS[1], KEYS[2]

local row = redis.call('HMGET', config, 'layout_min', 'clock', 'mode', 'place', 'fence')
local copying = row[1] == '9007199254740991'
local now, refused = read_clock(not copying and row[1], row[2], step == 'begin' and clock)
if not now then return refused end

if step == 'begin' then
  if not copying and redis.call('EXISTS', config) == 1 then
    if redis.call('EXISTS', copied) == 0 then return { 'taken', now } end
    local used = tonumber(row[4] or 0) > place or tonumber(row[5] or 0) > fence
    if used or row[3] ~= 'paused' then return { 'in_use', now } end
  end
  redis.call('SET', copied, '1', 'PX', 604800000)
  redis.call('HSET', config, 'layout', 2, 'layout_min', '9007199254740991', 'clock', row[2] or (clock == 'test' and 'test' or 'server'))
elseif step == 'write' then
  refused = check_copied()
  if refused then return refused end
  if not copying then return { 'closed', now } end
  write_copied()
else
  local stored, mode = {}, nil
  for i = 1, entry_count do
    stored[2 * i - 1], stored[2 * i] = entry_name[i], entry_value[i]
    if entry_name[i] == 'mode' then mode = entry_value[i] end
  end
  if mode ~= 'paused' then return refuse('mode', mode, 'paused') end
  if not copying then
    local found = redis.call('HMGET', config, unpack(entry_name))  -- at most 1,000: the items of a call
    for i = 1, entry_count do
      if found[i] ~= entry_value[i] then return { 'closed', now } end
    end
    return { 'ok', now }
  end
  redis.call('UNLINK', config)
  redis.call('HSET', config, unpack(stored))  -- at most 2,000: two for each item of a call
end
return { 'ok', now }
