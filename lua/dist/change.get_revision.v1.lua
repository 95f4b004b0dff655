#!lua flags=no-writes
-- generated from lua/change/get_revision.v1.lua by lua/bundle.py; do not edit
-- change.get_revision.v1: the content of a revision of a change, as the netstrings over which its digest is (see `put`). Of a change, the
-- current revision and the 10 before it are kept. Those before it are gone 30 days after another was replaced last.
--
-- DATA   change    prefix/hash   {base}:change:    name
-- DATA   params    prefix/string {base}:params:    name
-- DATA   revisions prefix/hash   {base}:revisions: name
-- DATA   config    hash          {base}:config
-- ARGV   id       name
-- ARGV   rev      int 1..1000000000
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN found      now_ms:int content:bytes
-- RETURN not_kept   now_ms:int current:int
-- RETURN not_found  now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   4 commands; at most 5 commands, 140 steps

local MAX_SAFE = 9007199254740991
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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{change:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:change:[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{change:<name>}:config, <prefix>:{<slot>}:change:<name>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. ':nowhere' then return refuse('key nowhere', KEYS[2], arg_base .. ':nowhere') end
  KEYS = { arg_base .. ':change:', arg_base .. ':params:', arg_base .. ':revisions:', arg_base .. ':config' }
end

local id = ARGV[1]
if not id or #id > 100 or not arg_find(id, '^[%w._@+-]+$') then
  return refuse('id', id, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
end
local rev = ARGV[2]
rev = arg_uint(rev, 1, 1000000000)
if not rev then return refuse('rev', ARGV[2], 'an integer from 1 to 1000000000') end
local now_ms = ARGV[3]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[3], 'an integer from 0 to 9000000000000') end
end
if #ARGV ~= 3 then
  return redis.error_reply('ADEQ_ARG expected 3 arguments, got ' .. #ARGV)
end

-- due_of(own): the earliest deadline of a change (ms), or MAX_SAFE.
-- EARLY
local function due_of(own)
  if own.state == 'applying' then return own.deadline_ms end
  if own.state == 'approved' then return own.until_ms end
  if own.state == 'submitted' then return own.timeout_at_ms end
  if own.state ~= 'reviewing' then return MAX_SAFE end
  local first = own.timeout_at_ms
  if own.escalate_at_ms > 0 then first = math.min(first, own.escalate_at_ms) end
  if own.remind_at_ms > 0 then first = math.min(first, own.remind_at_ms) end
  return first
end

-- netstrings(content): the parts of a content in this order, each as `<length>:<bytes>,`, and so each of its resources. The digest is over it.
local function netstrings(content)
  local words = {}
  for i, part in ipairs(content) do  -- at most 8: parts of a content
    if i ~= 5 then
      words[#words + 1] = #part .. ':' .. part .. ','
    else
      for name in string.gmatch(part, '[^,]+') do words[#words + 1] = #name .. ':' .. name .. ',' end  -- at most 32: resources
    end
  end
  return table.concat(words)
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
local function open(clock, row) local config = KEYS[4]
  row = row or redis.call('HMGET', config, 'layout_min', 'clock')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text,  }
end

-- read_change(id, new): a change, with the fields that most calls need; or nil, or with `new` one without values. text_of and number_of
-- read others when they are needed (read_fields: many in one command), set_field notes what changes, and save_change stores it.
local function read_change(id, new) local change = KEYS[1]
  local row = redis.call('HMGET', change .. id, 'state', 'digest', 'slots', 'rev', 'round', 'seq', 'created_ms', 'timeout_at_ms',
    'remind_at_ms', 'escalate_at_ms', 'until_ms', 'deadline_ms', 'p_follows', 'p_required', 'p_rejections', 'p_contributors_may_vote')
  if not row[1] and not new then return nil end
  local own = {
    id = id, changed = {}, state = row[1] or '', digest = row[2] or '', slots = row[3] or '', rev = tonumber(row[4] or 0),
    round = tonumber(row[5] or 0), seq = tonumber(row[6] or 0), created_ms = tonumber(row[7] or 0), timeout_at_ms = tonumber(row[8] or 0),
    remind_at_ms = tonumber(row[9] or 0), escalate_at_ms = tonumber(row[10] or 0), until_ms = tonumber(row[11] or 0),
    deadline_ms = tonumber(row[12] or 0), p_follows = row[13] or '', p_required = row[14] or '', p_rejections = row[15] or '',
    p_contributors_may_vote = row[16] or '',
  }
  own.due_ms = due_of(own)
  return own
end

-- stored_content(own): the parts of the content of a change, as they are stored: type, version, description, parameters, resources (separated
-- by commas), rollback_strategy, timeout_ms, priority.
local function stored_content(own) local change, params = KEYS[1], KEYS[2]
  local row = redis.call('HMGET', change .. own.id, 'type', 'version', 'description', 'resources', 'rollback_strategy', 'timeout_ms', 'priority')
  table.insert(row, 4, redis.call('GET', params .. own.id))
  return row
end

local revisions = KEYS[3]

local ctx, refused = open()
if refused then return refused end
local own = read_change(id)
if not own then return { 'not_found', ctx.now } end
local content
if rev == own.rev then content = netstrings(stored_content(own)) else content = redis.call('HGET', revisions .. id, rev) end
if not content then return { 'not_kept', ctx.now, own.rev } end
return { 'found', ctx.now, content }
