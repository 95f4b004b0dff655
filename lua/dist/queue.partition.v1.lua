#!lua
-- generated from lua/queue/partition.v1.lua by lua/bundle.py; do not edit
-- queue.partition.v1: set the partitions of a queue for a new epoch; or, without items, make this partition refuse new
-- tasks of earlier epochs. The partitions of an epoch are stored in the queue's own base, under its name without a
-- partition. Those of earlier epochs are in `homes`, earliest first: clients ask these first for a task that now
-- belongs to another partition. With `settle`, clients no longer ask the present homes (`settled` counts them).
-- `conflict` means that the queue does not have the preceding epoch. If the same call is sent again, it returns the
-- same answer.
--
-- DATA   config   hash {base}:config
-- DATA   once     hash {base}:once
-- DATA   once_due zset {base}:once:due
-- ARGV   epoch     int 1..
-- ARGV   settle    bool          ?=0
-- ARGV   rid       id            ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   tag       id
-- GROUP  item      0..512
-- RETURN ok        now_ms:int epoch:int
-- RETURN conflict  now_ms:int epoch:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   operate
-- REPLAY rid
-- COST   10 commands; at most 9 commands, 3,000 steps

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

local epoch = ARGV[1]
epoch = arg_uint(epoch, 1, 9007199254740991)
if not epoch then return refuse('epoch', ARGV[1], 'an integer from 1 to 9007199254740991') end
local settle = ARGV[2]
if settle ~= '0' and settle ~= '1' and settle ~= '' then
  return refuse('settle', settle, '0 or 1')
end
settle = settle == '1'
local rid = ARGV[3]
if rid ~= '' and (not rid or #rid > 200 or not arg_find(rid, '^[%w._:/@+-]+$')) then
  return refuse('rid', rid, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local now_ms = ARGV[4]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9007199254740991)
  if not now_ms then return refuse('now_ms', ARGV[4], 'an integer from 0 to 9007199254740991') end
end
local arg_at = 5
local item_count = ARGV[arg_at]
item_count = arg_uint(item_count, 0, 512)
if not item_count then return refuse('item_count', ARGV[arg_at], 'an integer from 0 to 512') end
arg_at = arg_at + 1
local item_tag = arg_empty
if item_count > 0 then item_tag = {} end
for i = 1, item_count do
  local v = ARGV[arg_at]
  if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
    return refuse('item[' .. i .. '].tag', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
  end
  item_tag[i] = v
  arg_at = arg_at + 1
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end

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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'epoch')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_epoch = tonumber(row[3] or 0) }
end

local config = KEYS[1]

local ctx, refused = open()
if refused then return refused end
if item_count == 0 then
  if not ctx.exists then create_base() end
  if epoch > ctx.settings_epoch then redis.call('HSET', config, 'epoch', epoch) end
  return { 'ok', ctx.now, math.max(epoch, ctx.settings_epoch) }
end
if done_before(ctx, 'partition') then return { 'ok', ctx.now, ctx.settings_epoch } end
local row = redis.call('HMGET', config, 'partitions', 'homes', 'map_epoch')
local mapped = tonumber(row[3] or 0)
if mapped ~= epoch - 1 then return { 'conflict', ctx.now, mapped } end

if not ctx.exists then create_base() end
local homes = (row[2] and row[2] .. ';' or '') .. (row[1] or '-')
redis.call('HSET', config, 'map_epoch', epoch, 'epoch', math.max(epoch, ctx.settings_epoch),
  'partitions', table.concat(item_tag, ' '), 'homes', homes)
if settle then redis.call('HSET', config, 'settled', select(2, string.gsub(homes, '[^;]+', ''))) end
note_done(ctx, 'partition', 'done')
return { 'ok', ctx.now, epoch }
