#!lua flags=allow-oom
-- generated from lua/queue/register.v1.lua by lua/bundle.py; do not edit
-- queue.register.v1: register a worker under a new incarnation of its name. The newest incarnation owns the name. From
-- then on, calls of an older incarnation return `stale`, and so does a late repetition of its registration. A worker
-- that waits under the name is notified, so that it learns this. A request that the older incarnation has not heard is in
-- force for the newest one, which sends `heartbeat` before its first claim to get it.
--
-- DATA   config      hash        {base}:config
-- DATA   workers     zset        {base}:workers
-- DATA   worker_hash prefix/hash {base}:worker:  id
-- DATA   control     prefix/list {base}:control: id
-- DATA   events      stream      {base}:events
-- ARGV   worker    id
-- ARGV   incarnation name
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- PAIR   about.hostname bytes 0..200
-- PAIR   about.pid      int 0..
-- PAIR   about.version  bytes 0..100
-- PAIR   about.layout   int 1..
-- PAIR   about.capacity int 0..100000
-- PAIR   about.group    name
-- PAIR   about.instance name
-- PAIR   about.capabilities ids 1..64
-- PAIR   about.lanes    lanes 1..64
-- GROUP  about     0..1
-- RETURN registered now_ms:int
-- RETURN stale
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  worker.registered
-- ROLE   work
-- REPLAY idempotent
-- FLAGS  allow-oom
-- COST   14 commands; at most 15 commands, 1,200 steps

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
  KEYS = { arg_base .. ':config', arg_base .. ':workers', arg_base .. ':worker:', arg_base .. ':control:', arg_base .. ':events' }
end

local worker = ARGV[1]
if not worker or #worker > 200 or not arg_find(worker, '^[%w._:/@+-]+$') then
  return refuse('worker', worker, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local incarnation = ARGV[2]
if not incarnation or #incarnation > 100 or not arg_find(incarnation, '^[%w._@+-]+$') then
  return refuse('incarnation', incarnation, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
end
local trace = ARGV[3]
if not trace or #trace > 128 then
  return refuse('trace', trace and #trace, '0 to 128 bytes long')
end
local source = ARGV[4]
if not source or #source > 200 then
  return refuse('source', source and #source, '0 to 200 bytes long')
end
local now_ms = ARGV[5]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9007199254740991)
  if not now_ms then return refuse('now_ms', ARGV[5], 'an integer from 0 to 9007199254740991') end
end
local arg_at = 6
local about_count = ARGV[arg_at]
about_count = arg_uint(about_count, 0, 1)
if not about_count then return refuse('about_count', ARGV[arg_at], 'an integer from 0 to 1') end
arg_at = arg_at + 1
local about_pairs = arg_empty
if about_count > 0 then about_pairs = {} end
local arg_seen_about, arg_ids, arg_lane, arg_lanes
for i = 1, about_count do
  local size, entry = ARGV[arg_at], arg_empty
  arg_at = arg_at + 1
  if size ~= '0' then
    size = size and #size == 1 and arg_find('123456789', size, 1, true) or arg_uint(size, 0, 9)
    if not size then return refuse('about[' .. i .. '].pairs', ARGV[arg_at - 1], 'an integer from 0 to 9') end
    if not arg_seen_about then
      arg_seen_about = {}
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
      if name == 'hostname' then
        if not v or #v > 200 then
          return refuse('about[' .. i .. '].hostname', v and #v, '0 to 200 bytes long')
        end
      elseif name == 'pid' then
        v = arg_uint(v, 0, 9007199254740991)
        if not v then return refuse('about[' .. i .. '].pid', raw, 'an integer from 0 to 9007199254740991') end
      elseif name == 'version' then
        if not v or #v > 100 then
          return refuse('about[' .. i .. '].version', v and #v, '0 to 100 bytes long')
        end
      elseif name == 'layout' then
        v = arg_uint(v, 1, 9007199254740991)
        if not v then return refuse('about[' .. i .. '].layout', raw, 'an integer from 1 to 9007199254740991') end
      elseif name == 'capacity' then
        v = arg_uint(v, 0, 100000)
        if not v then return refuse('about[' .. i .. '].capacity', raw, 'an integer from 0 to 100000') end
      elseif name == 'group' then
        if not v or #v > 100 or not arg_find(v, '^[%w._@+-]+$') then
          return refuse('about[' .. i .. '].group', v, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
        end
      elseif name == 'instance' then
        if not v or #v > 100 or not arg_find(v, '^[%w._@+-]+$') then
          return refuse('about[' .. i .. '].instance', v, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
        end
      elseif name == 'capabilities' then
        v = arg_ids(v, 1, 64)
        if not v then return refuse('about[' .. i .. '].capabilities', raw, '1 to 64 ids with commas between them') end
      elseif name == 'lanes' then
        v = arg_lanes(v, 1, 64)
        if not v then return refuse('about[' .. i .. '].lanes', raw, '1 to 64 lanes with commas between them') end
      else
        return refuse('about[' .. i .. '].pairs', name, 'names from hostname, pid, version, layout, capacity, group, instance, capabilities, lanes')
      end
      if arg_seen_about[name] == i then
        return refuse('about[' .. i .. '].' .. name, 2, 'given at most once')
      end
      arg_seen_about[name] = i
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
  about_pairs[i] = entry
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end

-- emit(ctx, event, id, detail): add an entry to the stream, if the noun keeps events. detail: `name=value` words, or
-- ''. The trace is ctx.trace, that of the task, or else that of the call.
local function emit(ctx, event, id, detail) local events = KEYS[5]
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

-- push_control(ctx, name): leave a wake-up for a worker. It expires if no worker waits for it.
local function push_control(ctx, name) local control = KEYS[4]
  ctx.called = ctx.called or {}
  if ctx.called[name] then return end
  ctx.called[name] = true
  if redis.call('EXISTS', control .. name) == 0 then redis.call('LPUSH', control .. name, '1') end
  redis.call('PEXPIRE', control .. name, 60000)
end

-- retire_worker(name, killed): remove the current incarnation of a worker name. The last eight incarnations are remembered
-- for 2 minutes, so that a late repeated `register` of one of them is not accepted as new. If it was killed, as far as is
-- known, its successor gets a request that it has not heard. A restart is then `run`: the successor has started anew.
local function retire_worker(name, killed) local worker_hash = KEYS[3]
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

local workers, worker_hash = KEYS[2], KEYS[3]

local ctx, refused = open()
if refused then return refused end
local row = redis.call('HMGET', worker_hash .. worker, 'incarnation', 'replaced')
if string.find(' ' .. (row[2] or '') .. ' ', ' ' .. incarnation .. ' ', 1, true) then return { 'stale' } end

redis.call('ZADD', workers, ctx.now_text, worker)
if row[1] ~= incarnation then
  retire_worker(worker, true)
  redis.call('HSET', worker_hash .. worker, 'incarnation', incarnation, 'registered_ms', ctx.now_text,
    unpack(about_pairs[1] or {}))  -- at most 16: two for each pair
  redis.call('PERSIST', worker_hash .. worker)
  if row[1] then push_control(ctx, worker) end
  emit(ctx, 'worker.registered', worker, 'incarnation=' .. incarnation)
end
return { 'registered', ctx.now }
