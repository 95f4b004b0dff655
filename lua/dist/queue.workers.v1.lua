#!lua flags=no-writes
-- generated from lua/queue/workers.v1.lua by lua/bundle.py; do not edit
-- queue.workers.v1: return a page of the live workers: all, or those of a group, with a capability, or with a name. A
-- worker is alive if it was seen within presence_ms. busy: how many tasks it held at its last report, empty if it never
-- reports. `cursor` is the cursor of the last page, '' at first; an empty cursor in the answer means that this was the
-- last page. A worker that is alive all the time is listed, in rare cases twice.
--
-- DATA   config      hash        {base}:config
-- DATA   workers     zset        {base}:workers
-- DATA   worker_hash prefix/hash {base}:worker: id
-- ARGV   name      id            ?=
-- ARGV   group     name          ?=
-- ARGV   capability id           ?=
-- ARGV   cursor    bytes 0..19   ?=
-- ARGV   limit     int 1..200    ?=100
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int cursor:text items:list(item)
-- EACH   item      found name:id seen_ms:int record:pairs(worker)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   4 + 2n commands, O(n); at most 450 commands, 17,000 steps

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
  if KEYS[2] ~= arg_base .. ':nowhere' then return refuse('key nowhere', KEYS[2], arg_base .. ':nowhere') end
  KEYS = { arg_base .. ':config', arg_base .. ':workers', arg_base .. ':worker:' }
end

local name = ARGV[1]
if name ~= '' and (not name or #name > 200 or not arg_find(name, '^[%w._:/@+-]+$')) then
  return refuse('name', name, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local group = ARGV[2]
if group ~= '' and (not group or #group > 100 or not arg_find(group, '^[%w._@+-]+$')) then
  return refuse('group', group, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
end
local capability = ARGV[3]
if capability ~= '' and (not capability or #capability > 200 or not arg_find(capability, '^[%w._:/@+-]+$')) then
  return refuse('capability', capability, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local cursor = ARGV[4]
if not cursor or #cursor > 19 then
  return refuse('cursor', cursor and #cursor, '0 to 19 bytes long')
end
local limit = ARGV[5]
if limit == '' then
  limit = 100
else
  limit = arg_uint(limit, 1, 200)
  if not limit then return refuse('limit', ARGV[5], 'an integer from 1 to 200') end
end
local now_ms = ARGV[6]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9007199254740991)
  if not now_ms then return refuse('now_ms', ARGV[6], 'an integer from 0 to 9007199254740991') end
end
if #ARGV ~= 6 then
  return redis.error_reply('ADEQ_ARG expected 6 arguments, got ' .. #ARGV)
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text,  }
end

-- read_presence(): how long (ms) a worker without a heartbeat counts as alive.
local function read_presence() local config = KEYS[1]
  return tonumber(redis.call('HGET', config, 'presence_ms') or 30000)
end

-- shown_worker(name): what is known of a worker, as a flat list, without what is only for its calls; nil if it is not of the
-- group or lacks the capability that is asked for.
local function shown_worker(name) local worker_hash = KEYS[3]
  local names, shown, own = {}, {}, {}
  -- at most 300: fields, which are the description and up to 256 slots. HKEYS, because slots may be long
  for _, field in ipairs(redis.call('HKEYS', worker_hash .. name)) do
    if field ~= 'replaced' and not string.find(field, '^slot:') then names[#names + 1] = field end
  end
  -- at most 40: what a worker says of itself
  for i, value in ipairs(names[1] and redis.call('HMGET', worker_hash .. name, unpack(names)) or {}) do
    own[names[i]] = value
    shown[#shown + 1] = names[i]
    shown[#shown + 1] = value
  end
  local able = capability == '' or string.find(',' .. (own.capabilities or '') .. ',', ',' .. capability .. ',', 1, true)
  if own.incarnation and able and (group == '' or own.group == group) then return shown end
end

local workers = KEYS[2]

local ctx, refused = open()
if refused then return refused end
if not string.find(cursor, '^%d*$') then return refuse('cursor', cursor, 'empty, or what the page before answered') end

local alive_since_ms = ctx.now - read_presence()
local page = { '0', { name, redis.call('ZSCORE', workers, name) or '0' } }
if name == '' then page = redis.call('ZSCAN', workers, cursor == '' and '0' or cursor, 'COUNT', limit) end
local answers = {}
for i = 1, #page[2], 2 do
  local seen_ms = tonumber(page[2][i + 1])
  local record = seen_ms > alive_since_ms and shown_worker(page[2][i])
  if record then answers[#answers + 1] = { 'found', page[2][i], seen_ms, record } end
end
return { 'ok', ctx.now, page[1] ~= '0' and page[1] or '', answers }
