#!lua flags=no-writes
-- generated from lua/change/get.v1.lua by lua/bundle.py; do not edit
-- change.get.v1: changes by their ids, as they are stored, with their parameters; on demand with their preview and output, their requests
-- and the last entries of their log: then of at most 20 changes, and at most 1,000 entries in all. `overdue`: the review is over by
-- time, though no call has noted it yet. The counts are those of the requests of this round.
--
-- DATA   change       prefix/hash   {base}:change:       name
-- DATA   params       prefix/string {base}:params:       name
-- DATA   previews     prefix/string {base}:preview:      name
-- DATA   outputs      prefix/string {base}:output:       name
-- DATA   contributors prefix/set    {base}:contributors: name
-- DATA   requests     prefix/hash   {base}:request:      id
-- DATA   logs         prefix/stream {base}:log:          name
-- DATA   config       hash          {base}:config
-- ARGV   with_texts bool          ?=0
-- ARGV   with_requests bool          ?=0
-- ARGV   with_log int 0..1000   ?=0
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- ITEM   id       name
-- GROUP  item     1..100
-- RETURN ok       now_ms:int items:list(item)
-- EACH   item     found change:pairs(change) overdue:int approved:int rejected:int pending:int parameters:bytes preview:bytes output:bytes requests:list(one) log:list(step)
-- EACH   item     not_found
-- EACH   one      request slot:int reviewer:text request:pairs(request)
-- EACH   step     entry entry:pairs(entry)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   2 + 5n commands; at most 840 commands, 6,100 steps

local MAX_SAFE = 9007199254740991
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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{change:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:change:[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{change:<name>}:config, <prefix>:{<slot>}:change:<name>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. ':nowhere' then return refuse('key nowhere', KEYS[2], arg_base .. ':nowhere') end
  KEYS = { arg_base .. ':change:', arg_base .. ':params:', arg_base .. ':preview:', arg_base .. ':output:', arg_base .. ':contributors:', arg_base .. ':request:', arg_base .. ':log:', arg_base .. ':config' }
end

local with_texts = ARGV[1]
if with_texts ~= '0' and with_texts ~= '1' and with_texts ~= '' then
  return refuse('with_texts', with_texts, '0 or 1')
end
with_texts = with_texts == '1'
local with_requests = ARGV[2]
if with_requests ~= '0' and with_requests ~= '1' and with_requests ~= '' then
  return refuse('with_requests', with_requests, '0 or 1')
end
with_requests = with_requests == '1'
local with_log = ARGV[3]
if with_log == '' then
  with_log = 0
else
  with_log = arg_uint(with_log, 0, 1000)
  if not with_log then return refuse('with_log', ARGV[3], 'an integer from 0 to 1000') end
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
local item_id = {}
for i = 1, item_count do
  local v = ARGV[arg_at]
  if not v or #v > 100 or not arg_find(v, '^[%w._@+-]+$') then
    return refuse('item[' .. i .. '].id', v, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
  end
  item_id[i] = v
  arg_at = arg_at + 1
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end

local arg_rare

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

-- text_of(own, name): a field of a change that read_change does not read; '' if it is not stored.
-- EARLY
local function text_of(own, name) local change = KEYS[1]
  if own[name] == nil then own[name] = redis.call('HGET', change .. own.id, name) or '' end
  return own[name]
end

-- number_of(own, name): the same, as a number; 0 if it is not stored.
-- EARLY
local function number_of(own, name)
  return tonumber(text_of(own, name)) or 0
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
local function open(clock, row) local config = KEYS[8]
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

-- slots_of(own): the requests of a change, in the order of their slots: { slot, status, reviewer, chain, by, sender, via }. `chain` has a `>`
-- before each person who has delegated it, the original reviewer first; `via` a `>` before the name of the delegation of each, which is empty
-- where a person has done it, see via_of; `by` is the principal who answered, and `sender` the agent that has sent the answer, or ''. A caller
-- that changes one sets own.list_changed.
-- EARLY
local function slots_of(own)
  if own.list then return own.list end
  local list = {}
  for slot, status, reviewer, chain, by, sender, via in string.gmatch(own.slots, '(%d+) ([%a_]+) ([^ >]+)(%S*) ([^ ,>]*)>?([^ ,]*) ?([^,]*)') do
    if chain ~= '' then via = arg_rare().whole_via(own, slot, chain, via) end
    list[#list + 1] = { slot = slot, status = status, reviewer = reviewer, chain = chain, by = by, sender = sender, via = via }
  end
  own.list = list
  return list
end

local arg_made
function arg_rare()
  if arg_made then return arg_made end

-- answered_by(one, person): whether this person has answered a request, or has sent the answer as the agent of another.
local function answered_by(one, person)
  return one.by == person or one.sender == person
end

-- has_written(id, people): the first of these persons who is a contributor of a change, or nil.
local function has_written(id, people) local contributors = KEYS[5]
  local found = redis.call('SMISMEMBER', contributors .. id, unpack(people))  -- at most 8: an actor, a principal, a chain
  for i, one in ipairs(people) do
    if found[i] == 1 then return one end
  end
end

-- is_asked(one, person): whether this person has the request, or has delegated it.
local function is_asked(one, person)
  return one.reviewer == 'user:' .. person or string.find(one.chain .. '>', '>' .. person .. '>', 1, true) ~= nil
end

-- can_be_asked(own, reviewer): whether a reviewer may have one request more: a group always, a person who has none and, unless the
-- policy allows it, has not written the change.
local function can_be_asked(own, reviewer)
  local person = string.match(reviewer, '^user:(.+)$')
  if not person then return true end
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    if answered_by(one, person) or is_asked(one, person) then return false end
  end
  return text_of(own, 'p_contributors_may_vote') == '1' or not has_written(own.id, { person })
end

-- count_slots(own): how many requests are approved, rejected, pending, and wait for another revision.
local function count_slots(own)
  local counts = { approved = 0, rejected = 0, pending = 0, changes_requested = 0 }
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    if counts[one.status] then counts[one.status] = counts[one.status] + 1 end
  end
  return counts
end

-- waits_for(own, reviewer): whether a request to this reviewer is pending.
local function waits_for(own, reviewer)
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    if one.status == 'pending' and one.reviewer == reviewer then return true end
  end
  return false
end

-- next_asked(own): who is asked by the next escalation, or nil; and its level, the last one if nobody is left. Passed over is a group that
-- has a pending request already, and a person who has a request or has written the change.
local function next_asked(own)
  local level = 0
  for name in string.gmatch(text_of(own, 'p_escalate_to'), '[^,]+') do  -- at most 3: levels
    level = level + 1
    if level > number_of(own, 'level') and #slots_of(own) < 32 and not waits_for(own, name) and can_be_asked(own, name) then
      return name, level
    end
  end
  return nil, level
end

-- is_overdue(ctx, own): whether the review of this change is over by time, although no call has noted it yet. An escalation that is still
-- to come gives it more time.
local function is_overdue(ctx, own)
  if own.state ~= 'submitted' and own.state ~= 'reviewing' or own.timeout_at_ms > ctx.now then return false end
  return not (own.state == 'reviewing' and own.escalate_at_ms > 0 and own.escalate_at_ms <= own.timeout_at_ms and next_asked(own))
end

-- log_of(own, count): the last entries of the log of a change, the oldest of them first.
local function log_of(own, count) local logs = KEYS[7]
  local entries, items = redis.call('XREVRANGE', logs .. own.id, '+', '-', 'COUNT', count), {}
  for i = #entries, 1, -1 do items[#items + 1] = { 'entry', entries[i][2] } end  -- at most 1,000: count
  return items
end

-- requests_of(own): all requests of a change, with their records.
local function requests_of(own) local requests = KEYS[6]
  local items = {}
  for i, one in ipairs(slots_of(own)) do  -- at most 32: slots
    -- at most 60: fields of a request
    items[i] = { 'request', tonumber(one.slot), one.reviewer, redis.call('HGETALL', requests .. own.id .. '/' .. one.slot) }
  end
  return items
end

-- describe(ctx, own): a change as `get` answers it.
local function describe(ctx, own) local change, params, previews, outputs = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
  local counts = count_slots(own)
  return { 'found', redis.call('HGETALL', change .. own.id),  -- at most 100: fields of a change
    is_overdue(ctx, own) and 1 or 0, counts.approved, counts.rejected, counts.pending + counts.changes_requested,
    redis.call('GET', params .. own.id) or '', with_texts and redis.call('GET', previews .. own.id) or '',
    with_texts and redis.call('GET', outputs .. own.id) or '', with_requests and requests_of(own) or {},
    with_log > 0 and log_of(own, with_log) or {} }
end

-- whole_via(own, slot, chain, via): the delegations of a request, one for each person in its chain. Version 0.2.0 wrote some of them, or none,
-- into the slots of a change: then its record has all.
local function whole_via(own, slot, chain, via) local requests = KEYS[6]
  local function steps(text) return select(2, string.gsub(text, '>', '')) end
  if steps(via) == steps(chain) then return via end
  via = string.gsub(redis.call('HGET', requests .. own.id .. '/' .. slot, 'via') or '', ',', '>')
  return via .. string.rep('>', steps(chain) - steps(via))
end

  arg_made = { describe = describe, whole_via = whole_via }
  return arg_made
end

local ctx, refused = open()
if refused then return refused end
if item_count > 20 and (with_texts or with_requests or with_log > 0) then
  return refuse('item', item_count .. ' items', 'at most 20 with their texts, requests or log')
end
if item_count * with_log > 1000 then
  return refuse('with_log', with_log, 'at most 1000 entries in a call: ' .. math.floor(1000 / item_count) .. ' for each change')
end
local items = {}
for i, id in ipairs(item_id) do
  local own = read_change(id)
  items[i] = own and arg_rare().describe(ctx, own) or { 'not_found' }
end
return { 'ok', ctx.now, items }
