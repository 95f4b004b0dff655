#!lua flags=allow-oom
-- generated from lua/queue/progress.v1.lua by lua/bundle.py; do not edit
-- queue.progress.v1: store how far running tasks have come: a share in millionths, a line of text, where their output
-- is, and a line for their log, which keeps the last 100 lines. Values that are not given stay unchanged. Past its
-- deadline, a lease is lost here. If the same call is sent again, it changes nothing and returns the same answer.
--
-- DATA   config   hash        {base}:config
-- DATA   running  hash        {base}:running
-- DATA   leases   zset        {base}:leases
-- DATA   task     prefix/hash {base}:task:    id
-- DATA   log      prefix/list {base}:log:     id
-- DATA   once     hash        {base}:once
-- DATA   once_due zset        {base}:once:due
-- DATA   events   stream      {base}:events
-- ARGV   rid       id
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- ITEM   token     id
-- PAIR   ppm       int 0..1000000
-- PAIR   text      bytes 0..1000
-- PAIR   line      bytes 0..1000
-- PAIR   output    bytes 0..1000
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      noted
-- EACH   item      cancelling
-- EACH   item      lease_lost
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.progress
-- ROLE   work
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   9 + 5n commands, O(n log m); at most 5,600 commands, 140,000 steps

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
  if KEYS[2] ~= arg_base .. '!work' then return refuse('key gate', KEYS[2], arg_base .. '!work') end
  KEYS = { arg_base .. ':config', arg_base .. ':running', arg_base .. ':leases', arg_base .. ':task:', arg_base .. ':log:', arg_base .. ':once', arg_base .. ':once:due', arg_base .. ':events' }
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
local arg_at = 5
local item_count = ARGV[arg_at]
item_count = arg_uint(item_count, 1, 1000)
if not item_count then return refuse('item_count', ARGV[arg_at], 'an integer from 1 to 1000') end
arg_at = arg_at + 1
local item_id, item_token, item_pairs = {}, {}, {}
local arg_seen_item
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
  arg_at = arg_at + 2
  local size, entry = ARGV[arg_at], arg_empty
  arg_at = arg_at + 1
  if size ~= '0' then
    size = size and #size == 1 and arg_find('1234', size, 1, true) or arg_uint(size, 0, 4)
    if not size then return refuse('item[' .. i .. '].pairs', ARGV[arg_at - 1], 'an integer from 0 to 4') end
    arg_seen_item = arg_seen_item or {}
    local filled = 0
    for at = arg_at, arg_at + 2 * size - 2, 2 do
      local name, raw = ARGV[at], ARGV[at + 1]
      local v = raw
      if name == 'ppm' then
        v = arg_uint(v, 0, 1000000)
        if not v then return refuse('item[' .. i .. '].ppm', raw, 'an integer from 0 to 1000000') end
      elseif name == 'text' then
        if not v or #v > 1000 then
          return refuse('item[' .. i .. '].text', v and #v, '0 to 1000 bytes long')
        end
      elseif name == 'line' then
        if not v or #v > 1000 then
          return refuse('item[' .. i .. '].line', v and #v, '0 to 1000 bytes long')
        end
      elseif name == 'output' then
        if not v or #v > 1000 then
          return refuse('item[' .. i .. '].output', v and #v, '0 to 1000 bytes long')
        end
      else
        return refuse('item[' .. i .. '].pairs', name, 'names from ppm, text, line, output')
      end
      if arg_seen_item[name] == i then
        return refuse('item[' .. i .. '].' .. name, 2, 'given at most once')
      end
      arg_seen_item[name] = i
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

-- done_before(ctx, verb): the answer that an earlier call with this verb and rid stored in the last minute, or nil.
local function done_before(ctx, verb) local once = KEYS[6]
  if rid == '' then return nil end
  local word, until_ms = string.match(redis.call('HGET', once, 'done:' .. verb .. ':' .. rid) or '', '^(%S+) (%d+)$')
  if word and tonumber(until_ms) > ctx.now then return word end
end

-- emit(ctx, event, id, detail): add an entry to the stream, if the noun keeps events. detail: `name=value` words, or
-- ''. The trace is ctx.trace, that of the task, or else that of the call.
local function emit(ctx, event, id, detail) local events = KEYS[8]
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
local function hold_once(ctx, field, id, keep_ms, stamp) local once, once_due = KEYS[6], KEYS[7]
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
local function sweep_once(ctx, limit) local once, once_due = KEYS[6], KEYS[7]
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

-- note_answers(ctx, verb, answers): store the answers of this call. If the call is repeated, replayed_answers returns
-- them.
-- EARLY
local function note_answers(ctx, verb, answers)
  local words = {}
  for i, answer in ipairs(answers) do words[i] = table.concat(answer, '=') end
  note_done(ctx, verb, table.concat(words, ','))
end

-- note_progress(ctx, id, own): write how far a running task has come. False if its record is gone. If only a log line
-- is given, no event is written.
local function note_progress(ctx, id, own) local task, log = KEYS[4], KEYS[5]
  if redis.call('HEXISTS', task .. id, 'created_ms') == 0 then return false end
  local fields = { 'progress_ms', ctx.now_text }
  for name, value in pairs({ progress_ppm = own.ppm, progress_text = own.text, output = own.output }) do
    fields[#fields + 1] = name
    fields[#fields + 1] = value
  end
  redis.call('HSET', task .. id, unpack(fields))  -- at most 8: the fields above
  if own.line then
    redis.call('RPUSH', log .. id, ctx.now_text .. ' ' .. own.line)
    redis.call('LTRIM', log .. id, -100, -1)
  end
  if own.ppm or own.text then emit(ctx, 'task.progress', id, own.ppm and 'ppm=' .. own.ppm or '') end
  return true
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'events_max')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_events_max = tonumber(row[3] or 100000) }
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

-- replayed_answers(ctx, verb, count): the answers to the same call of count items within the last minute, or nil.
local function replayed_answers(ctx, verb, count)
  local answers = {}
  for status, value in string.gmatch(done_before(ctx, verb) or '', '([^=,]+)=?([^,]*)') do
    answers[#answers + 1] = { status, value ~= '' and value or nil }
  end
  if #answers == count then return answers end
end

local running, leases = KEYS[2], KEYS[3]

local ctx, refused = open()
if refused then return refused end

local answers = replayed_answers(ctx, 'progress', item_count)
if answers then return { 'ok', ctx.now, answers } end
answers = {}
local any = false
-- at most 1,000: items
local held = redis.call('HMGET', running, unpack(item_id))
local deadlines = redis.call('ZMSCORE', leases, unpack(item_id))
for i, id in ipairs(item_id) do
  local lease = read_lease(held[i])
  local ours = lease and lease.token == item_token[i] and tonumber(deadlines[i] or 0) > ctx.now
  if not ours or not note_progress(ctx, id, item_pairs[i]) then
    answers[i] = { 'lease_lost' }
  else
    answers[i], any = { lease.cancelling and 'cancelling' or 'noted' }, true
  end
end
if any then note_answers(ctx, 'progress', answers) end
return { 'ok', ctx.now, answers }
