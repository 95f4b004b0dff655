#!lua
-- generated from lua/rate/set_rules.v1.lua by lua/bundle.py; do not edit
-- rate.set_rules.v1: store rules, or remove them; the calls after it go by them. A namespace has at most 1,000 rules.
-- `gcra` spreads hits evenly over the period: `burst` of them may come at once (as many as `limit`, unless given), and a period has at most
-- burst + limit. `log` counts each hit: no period has more than `limit`, at most 5,000. `concurrency`: at most `limit` leases at a time; one
-- lasts `lease_ms` unless it is renewed or given back. A `shadow` rule only reports what it would refuse. `on_error`: whether clients refuse
-- (closed) or allow (open) while they cannot ask the server. What was counted goes on counting if only numbers change; with another
-- algorithm it begins anew. A longer period counts the hits from the change on.
--
-- DATA   rules   hash          {base}:rules
-- DATA   answers prefix/string {base}:r:     id
-- DATA   config  hash          {base}:config
-- DATA   events  stream        {base}:events
-- ARGV   rid          id
-- ARGV   source       bytes 0..200     ?=
-- ARGV   trace        bytes 0..128     ?=
-- ARGV   now_ms       int 0..9000000000000 ?=0
-- ITEM   name         id
-- PAIR   remove       bool             ?=0
-- PAIR   algorithm    enum gcra|log|concurrency ?=gcra
-- PAIR   limit        int 1..1000000
-- PAIR   period_ms    int 1..2678400000
-- PAIR   burst        int 1..1000000
-- PAIR   lease_ms     int 1000..3600000
-- PAIR   shadow       bool             ?=0
-- PAIR   on_error     enum closed|open ?=closed
-- GROUP  item         1..100
-- RETURN ok           now_ms:int items:list(item)
-- EACH   item         stored version:int
-- EACH   item         same version:int
-- EACH   item         removed
-- EACH   item         unknown
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  rule.stored rule.removed
-- ROLE   operate
-- REPLAY rid
-- COST   9 commands and 4 for each rule; at most 450 commands, 11,000 steps

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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{rate:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:rate:[%w._@+-]+):config$') or string.match(KEYS[1], '^([%w._@+-]+:{rate:[%w._@+-]+/[%w._@+-]+}):config$') or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:rate:[%w._@+-]+/[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{rate:<name>}:config, <prefix>:{<slot>}:rate:<name>:config, <prefix>:{rate:<name>/<tag>}:config, <prefix>:{<slot>}:rate:<name>/<tag>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. '!operate' then return refuse('key gate', KEYS[2], arg_base .. '!operate') end
  KEYS = { arg_base .. ':rules', arg_base .. ':r:', arg_base .. ':config', arg_base .. ':events' }
end

local rid = ARGV[1]
if not rid or #rid > 200 or not arg_find(rid, '^[%w._:/@+-]+$') then
  return refuse('rid', rid, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local source = ARGV[2]
if not source or #source > 200 then
  return refuse('source', source and #source, '0 to 200 bytes long')
end
local trace = ARGV[3]
if not trace or #trace > 128 then
  return refuse('trace', trace and #trace, '0 to 128 bytes long')
end
local now_ms = ARGV[4]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[4], 'an integer from 0 to 9000000000000') end
end
local arg_at = 5
local item_count = ARGV[arg_at]
item_count = arg_uint(item_count, 1, 100)
if not item_count then return refuse('item_count', ARGV[arg_at], 'an integer from 1 to 100') end
arg_at = arg_at + 1
local item_name, item_pairs = {}, {}
local arg_seen_item
for i = 1, item_count do
  local v = ARGV[arg_at]
  if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
    return refuse('item[' .. i .. '].name', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
  end
  item_name[i] = v
  arg_at = arg_at + 1
  local size, entry = ARGV[arg_at], arg_empty
  arg_at = arg_at + 1
  if size ~= '0' then
    size = size and #size == 1 and arg_find('12345678', size, 1, true) or arg_uint(size, 0, 8)
    if not size then return refuse('item[' .. i .. '].pairs', ARGV[arg_at - 1], 'an integer from 0 to 8') end
    arg_seen_item = arg_seen_item or {}
    local filled = 0
    for at = arg_at, arg_at + 2 * size - 2, 2 do
      local name, raw = ARGV[at], ARGV[at + 1]
      local v = raw
      if name == 'remove' then
        if raw == '' then
          v = nil
        else
          if v ~= '0' and v ~= '1' then
            return refuse('item[' .. i .. '].remove', v, '0 or 1')
          end
          v = v == '1'
          if v == false then v = nil end
        end
      elseif name == 'algorithm' then
        if raw == '' then
          v = nil
        else
          if v ~= 'gcra' and v ~= 'log' and v ~= 'concurrency' then
            return refuse('item[' .. i .. '].algorithm', v, 'one of gcra, log, concurrency')
          end
          if v == 'gcra' then v = nil end
        end
      elseif name == 'limit' then
        v = arg_uint(v, 1, 1000000)
        if not v then return refuse('item[' .. i .. '].limit', raw, 'an integer from 1 to 1000000') end
      elseif name == 'period_ms' then
        v = arg_uint(v, 1, 2678400000)
        if not v then return refuse('item[' .. i .. '].period_ms', raw, 'an integer from 1 to 2678400000') end
      elseif name == 'burst' then
        v = arg_uint(v, 1, 1000000)
        if not v then return refuse('item[' .. i .. '].burst', raw, 'an integer from 1 to 1000000') end
      elseif name == 'lease_ms' then
        v = arg_uint(v, 1000, 3600000)
        if not v then return refuse('item[' .. i .. '].lease_ms', raw, 'an integer from 1000 to 3600000') end
      elseif name == 'shadow' then
        if raw == '' then
          v = nil
        else
          if v ~= '0' and v ~= '1' then
            return refuse('item[' .. i .. '].shadow', v, '0 or 1')
          end
          v = v == '1'
          if v == false then v = nil end
        end
      elseif name == 'on_error' then
        if raw == '' then
          v = nil
        else
          if v ~= 'closed' and v ~= 'open' then
            return refuse('item[' .. i .. '].on_error', v, 'one of closed, open')
          end
          if v == 'closed' then v = nil end
        end
      else
        return refuse('item[' .. i .. '].pairs', name, 'names from remove, algorithm, limit, period_ms, burst, lease_ms, shadow, on_error')
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

-- create_base(clock): store the layout and the clock of a new base. The clock is `test` or `server` (the default).
local function create_base(clock) local config = KEYS[3]
  redis.call('HSET', config, 'layout', 1, 'layout_min', 1, 'clock', clock == 'test' and 'test' or 'server')
end

-- emit(ctx, event, id, detail): add an entry to the stream, if the noun keeps events. detail: `name=value` words, or
-- ''. The trace is ctx.trace, that of the task, or else that of the call.
local function emit(ctx, event, id, detail) local events = KEYS[4]
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

-- expire_in(key, ms): let a key expire by itself, unless the clock is that of a test.
local function expire_in(key, ms)
  if now_ms == 0 then redis.call('PEXPIRE', key, ms) end
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
local function open(clock, row) local config = KEYS[3]
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'events_max')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_events_max = tonumber(row[3] or 1000) }
end

-- recall(at_ms): what a call with this rid left in the last minute: its verb, and a text; or nil.
local function recall(at_ms) local answers = KEYS[2]
  local until_ms, verb, text = string.match(redis.call('GET', answers .. rid) or '', '^(%d+) (%S+) (%S*)$')
  if until_ms and tonumber(until_ms) > at_ms then return verb, text end
end

-- recall_items(at_ms, verb): the answers that this call left in the last minute, or nil: a status for each item, and a number where it has
-- one.
local function recall_items(at_ms, verb)
  local by, text = recall(at_ms)
  if by ~= verb then return nil end
  local items = {}
  for status, number in string.gmatch(text, '(%l+)=(%d*)') do items[#items + 1] = { status, tonumber(number) } end
  return items
end

-- remember(at_ms, verb, text): leave a text for a minute, in case this call is sent again.
local function remember(at_ms, verb, text) local answers = KEYS[2]
  redis.call('SET', answers .. rid, string.format('%.0f %s %s', at_ms + 60000, verb, text))
  expire_in(answers .. rid, 60000)
end

-- remember_items(at_ms, verb, items): remember for a minute what this call was answered.
local function remember_items(at_ms, verb, items)
  local words = {}
  for i, item in ipairs(items) do words[i] = item[1] .. '=' .. (item[2] and string.format('%.0f', item[2]) or '') end
  remember(at_ms, verb, table.concat(words, ','))
end

-- rule_text(given, label): the text of a rule without its version, nil to remove it; or nil and an error, if its fields do not fit together.
local function rule_text(given, label)
  local algorithm, limit, period_ms, burst = given.algorithm or 'gcra', given.limit, given.period_ms, given.burst
  if given.remove then
    if #given > 2 then return nil, refuse(label .. 'remove', 1, 'given alone') end
    return nil
  end
  if not limit then return nil, refuse(label .. 'limit', nil, 'an integer from 1 to 1000000; it has no default') end
  if algorithm == 'concurrency' then
    if period_ms then return nil, refuse(label .. 'period_ms', period_ms, 'left out: a rule of concurrency has no period') end
  elseif not period_ms then
    return nil, refuse(label .. 'period_ms', nil, 'given, but for a rule of concurrency')
  elseif given.lease_ms then
    return nil, refuse(label .. 'lease_ms', given.lease_ms, 'left out: only rules of concurrency have leases')
  end
  local pace = 0
  if algorithm == 'concurrency' then
    pace = given.lease_ms or 60000
  elseif algorithm == 'log' then
    if limit > 5000 then return nil, refuse(label .. 'limit', limit, 'at most 5000 for a log; for more use gcra') end
  else
    burst, pace = burst or limit, math.ceil(period_ms * 1000 / limit)
    if limit > 100 * period_ms then return nil, refuse(label .. 'limit', limit, 'at most 100 for each ms of the period') end
    if burst * pace > 2678400000000 then
      return nil, refuse(label .. 'burst', burst, 'so small that burst * period_ms / limit is at most 2678400000 ms, 31 days')
    end
  end
  if algorithm ~= 'gcra' and burst then return nil, refuse(label .. 'burst', burst, 'left out: only rules of gcra have a burst') end
  return string.format('%s %.0f %.0f %.0f %.0f %s %s', algorithm, pace, burst or 0, limit, period_ms or 0, given.on_error or 'closed',
    given.shadow and 'shadow' or 'enforced')
end

local rules, config = KEYS[1], KEYS[3]

local ctx, refused = open()
if refused then return refused end
local texts, names, added = {}, redis.call('HMGET', rules, unpack(item_name)), 0  -- at most 100: item
for i = 1, item_count do
  texts[i], refused = rule_text(item_pairs[i], 'item[' .. i .. '].')
  if refused then return refused end
  if texts[i] and not names[i] then added = added + 1 end
end
local before = recall_items(ctx.now, 'set_rules')
if before then return { 'ok', ctx.now, before } end
if added > 0 and redis.call('HLEN', rules) + added > 1000 then
  return refuse('item', item_count, 'so few that the namespace has at most 1000 rules')
end
if not ctx.exists then create_base() end
local items = {}
for i, name in ipairs(item_name) do
  local old, version = string.match(redis.call('HGET', rules, name) or '', '^(.*) (%d+)$')
  if not texts[i] then
    items[i] = { old and 'removed' or 'unknown' }
    if old then
      redis.call('HDEL', rules, name)
      emit(ctx, 'rule.removed', name, '')
    end
  elseif old == texts[i] then
    items[i] = { 'same', tonumber(version) }
  else
    version = string.format('%.0f', redis.call('HINCRBY', config, 'rules_version', 1))
    redis.call('HSET', rules, name, texts[i] .. ' ' .. version)
    emit(ctx, 'rule.stored', name, 'version=' .. version)
    items[i] = { 'stored', tonumber(version) }
  end
end
remember_items(ctx.now, 'set_rules', items)
return { 'ok', ctx.now, items }
