#!lua flags=allow-oom
-- generated from lua/change/heartbeat.v1.lua by lua/bundle.py; do not edit
-- change.heartbeat.v1: renew the lease of an applier. `cancelling`: somebody has cancelled the change; stop, and say so with `finish`.
-- `timed_out`: the time of the run is over; the lease ends 30 s later for good. `lost`: another may apply it by now; stop at once.
-- `lock_lost`: the request `lock_rid` of `begin` does not hold this resource any more, so the run has ended; stop at once, too.
--
-- DATA   change         prefix/hash   {base}:change:       name
-- DATA   contributors   prefix/set    {base}:contributors: name
-- DATA   requests       prefix/hash   {base}:request:      id
-- DATA   logs           prefix/stream {base}:log:          name
-- DATA   inboxes        prefix/zset   {base}:inbox:        label
-- DATA   due            zset          {base}:due
-- DATA   ended          zset          {base}:ended
-- DATA   states         prefix/zset   {base}:state:        label
-- DATA   by_reviewer    prefix/zset   {base}:by:reviewer:  label
-- DATA   outbox         zset          {base}:outbox
-- DATA   follows        hash          {base}:follows
-- DATA   delegations    prefix/hash   {base}:delegations:  label
-- DATA   delegating     zset          {base}:delegating
-- DATA   away           prefix/zset   {base}:away:         label
-- DATA   config         hash          {base}:config
-- DATA   events         stream        {base}:events
-- DATA   lock_config    hash          {lock}:config
-- DATA   lock_requests  hash          {lock}:requests
-- DATA   lock_deadlines zset          {lock}:deadlines
-- ARGV   id           name
-- ARGV   token        id
-- ARGV   trace        bytes 0..128      ?=
-- ARGV   source       bytes 0..200      ?=
-- ARGV   now_ms       int 0..9000000000000 ?=0
-- RETURN renewed      now_ms:int deadline_ms:int
-- RETURN cancelling   now_ms:int deadline_ms:int
-- RETURN timed_out    now_ms:int deadline_ms:int
-- RETURN lock_lost    now_ms:int resource:text
-- RETURN lost         now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  change.outdated change.reviewing change.reminded change.escalated change.delegated change.rejected
-- EVENT  change.approved change.released change.failed change.cancelled
-- ROLE   apply
-- REPLAY state
-- USES   lock
-- FLAGS  allow-oom
-- COST   5 commands; at most 1,700 commands, 9,900 steps

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
if #KEYS ~= 3 then
  return redis.error_reply('ADEQ_ARG expected 3 keys, got ' .. #KEYS)
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
  local arg_base_lock = string.match(KEYS[2], '^([%w._@+-]+:{[%w._@+-]+}:lock:[%w._@+-]+):config$')
  if not arg_base_lock or #arg_base_lock > 100 or string.match(arg_base_lock, '^[^}]*') ~= string.match(arg_base, '^[^}]*') then
    arg_base_lock = arg_base_lock or KEYS[2] == arg_base .. '!none:config' and arg_base .. '!none'
    for part in string.gmatch(arg_base_lock or '', '[%w._@+-]+') do
      if #part > 100 then arg_base_lock = nil end
    end
    if arg_base_lock and string.match(arg_base_lock, '^[^}]*') ~= string.match(arg_base, '^[^}]*') then arg_base_lock = nil end
    if not arg_base_lock then return refuse('key lock_config', KEYS[2], '<prefix>:{<slot>}:lock:<name>:config, <base>!none:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -, in the slot of {base}') end
  end
  if KEYS[3] ~= arg_base .. '!apply' then return refuse('key gate', KEYS[3], arg_base .. '!apply') end
  KEYS = { arg_base .. ':change:', arg_base .. ':contributors:', arg_base .. ':request:', arg_base .. ':log:', arg_base .. ':inbox:', arg_base .. ':due', arg_base .. ':ended', arg_base .. ':state:', arg_base .. ':by:reviewer:', arg_base .. ':outbox', arg_base .. ':follows', arg_base .. ':delegations:', arg_base .. ':delegating', arg_base .. ':away:', arg_base .. ':config', arg_base .. ':events', arg_base_lock .. ':config', arg_base_lock .. ':requests', arg_base_lock .. ':deadlines' }
end

local id = ARGV[1]
if not id or #id > 100 or not arg_find(id, '^[%w._@+-]+$') then
  return refuse('id', id, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
end
local token = ARGV[2]
if not token or #token > 200 or not arg_find(token, '^[%w._:/@+-]+$') then
  return refuse('token', token, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
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
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[5], 'an integer from 0 to 9000000000000') end
end
if #ARGV ~= 5 then
  return redis.error_reply('ADEQ_ARG expected 5 arguments, got ' .. #ARGV)
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

-- emit(ctx, event, id, detail): add an entry to the stream, if the noun keeps events. detail: `name=value` words, or
-- ''. The trace is ctx.trace, that of the task, or else that of the call.
local function emit(ctx, event, id, detail) local events = KEYS[16]
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

-- load_change(ctx, id): a change as it is now: with all that is due for it, by now, done. nil if there is none.
local function load_change(ctx, id)
  local own = read_change(id)
  if own and own.due_ms <= ctx.now then arg_rare().take_due(ctx, own) end
  return own
end

-- looked_enough(ctx): whether this call has compared so much that it ends here, with the rest for the next one. How much is done in a call
-- depends on it, but nobody's request. It is about 60 ms of work.
local function looked_enough(ctx)
  return ctx.looked > 500000
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
local function open(clock, row) local config = KEYS[15]
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'lease_ms', 'lock_domain', 'events_max', 'delegations')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_lease_ms = tonumber(row[3] or 30000), settings_lock_domain = row[4], settings_events_max = tonumber(row[5] or 100000), settings_delegations = row[6] == '1', known = {}, late = {}, words = {}, looked = 0 }
end

-- set_field(own, name, value): change a field of a change; save_change stores it.
-- EARLY
local function set_field(own, name, value)
  own[name] = value
  own.changed[#own.changed + 1] = name
  own.changed[#own.changed + 1] = value
end

-- record_step(ctx, own, event, by, detail, why): note a step of a change in its log, as an event, and as its next `seq`. by: who did it;
-- detail: `name=value` words, or ''; why: free text for the log alone, or ''. What time, delegations, and policies do has no caller.
-- EARLY
local function record_step(ctx, own, event, by, detail, why) local logs = KEYS[4]
  local acts = by ~= 'time' and by ~= 'delegation' and string.sub(by, 1, 7) ~= 'policy:'
  local sender = acts and ctx.caller or ''
  set_field(own, 'seq', own.seq + 1)
  redis.call('XADD', logs .. own.id, 'MAXLEN', 1000, '*', 'event', event, 'timestamp', ctx.now_text, 'rev', own.rev, 'round', own.round,
    'by', by, 'detail', detail, 'reason', why, 'proof', acts and ctx.proof or '', 'caller', sender)
  if text_of(own, 'p_follows') ~= '' then arg_rare().note_follow(ctx, own, event) end
  emit(ctx, event, own.id, 'rev=' .. own.rev .. ' round=' .. own.round .. ' by=' .. by .. (sender ~= '' and ' caller=' .. sender or '')
    .. (detail ~= '' and ' ' .. detail or ''))
end

-- save_change(ctx, own): store what this call has changed, and when the change is due next.
-- EARLY
local function save_change(ctx, own) local change, due = KEYS[1], KEYS[6]
  if own.list_changed then
    local words = {}
    for i, one in ipairs(own.list) do  -- at most 32: slots
      words[i] = one.slot .. ' ' .. one.status .. ' ' .. one.reviewer .. one.chain .. ' ' .. one.by
        .. (one.sender ~= '' and '>' .. one.sender or '') .. (one.chain ~= '' and ' ' .. one.via or '')
    end
    set_field(own, 'slots', table.concat(words, ','))
  end
  if #own.changed == 0 then return end
  -- at most 200: two for each field that a step and what was due before it change
  redis.call('HSET', change .. own.id, 'updated_ms', ctx.now_text, unpack(own.changed))
  local next_ms = due_of(own)
  if next_ms ~= own.due_ms and next_ms == MAX_SAFE then
    redis.call('ZREM', due, own.id)
  elseif next_ms ~= own.due_ms then
    redis.call('ZADD', due, next_ms, own.id)
  end
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

-- take_others(ctx, limit): do what is due for other changes, at most limit of them, fewer where it has to compare much. Returns how many.
-- An entry that its record does not confirm is damage: it is mended, or it would be looked at for ever.
local function take_others(ctx, limit) local due = KEYS[6]
  local ids = redis.call('ZRANGE', due, '-inf', ctx.now_text, 'BYSCORE', 'LIMIT', 0, limit)
  for i, id in ipairs(ids) do  -- at most 100: limit
    if looked_enough(ctx) then return i - 1 end
    local own = read_change(id)
    if own and own.due_ms <= ctx.now then
      arg_rare().take_due(ctx, own)
      save_change(ctx, own)
    elseif own and own.due_ms < MAX_SAFE then
      redis.call('ZADD', due, own.due_ms, id)
    else
      redis.call('ZREM', due, id)
    end
  end
  return #ids
end

-- verifies_locks(ctx): whether the lock domain of the settings is in the same slot, so that its locks can be looked at.
-- USES lock
local function verifies_locks(ctx) local lock__requests = KEYS[18]
  if not ctx.settings_lock_domain or ctx.settings_lock_domain == 'none' then return false end
  local name = ':lock:' .. ctx.settings_lock_domain .. ':requests'
  return string.sub(lock__requests, -#name) == name
end

local arg_made
function arg_rare()
  if arg_made then return arg_made end

-- answered_by(one, person): whether this person has answered a request, or has sent the answer as the agent of another.
local function answered_by(one, person)
  return one.by == person or one.sender == person
end

-- leave_away(own, one): a request is no longer pending with a delegate.
local function leave_away(own, one) local away = KEYS[14]
  for person in string.gmatch(one.chain, '[^>]+') do  -- at most 4: delegation_depth
    redis.call('ZREM', away .. person, own.id .. '/' .. one.slot)
  end
end

-- close_requests(own, status): close the requests that nobody has answered: expired or cancelled.
local function close_requests(own, status) local requests = KEYS[3]
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    if one.status == 'pending' then
      one.status, own.list_changed = status, true
      if one.chain ~= '' then leave_away(own, one) end
      redis.call('HSET', requests .. own.id .. '/' .. one.slot, 'status', status)
    end
  end
end

-- is_ended(state): whether only reopening or retention follows.
local function is_ended(state)
  return state == 'completed' or state == 'failed' or state == 'rejected' or state == 'cancelled'
end

-- leave_inboxes(own): take the pending requests of a change out of all inboxes.
local function leave_inboxes(own) local inboxes = KEYS[5]
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    if one.status == 'pending' then redis.call('ZREM', inboxes .. one.reviewer, own.id .. '/' .. one.slot) end
  end
end

-- count_slots(own): how many requests are approved, rejected, pending, and wait for another revision.
local function count_slots(own)
  local counts = { approved = 0, rejected = 0, pending = 0, changes_requested = 0 }
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    if counts[one.status] then counts[one.status] = counts[one.status] + 1 end
  end
  return counts
end

-- was_rejected(own): whether people have rejected this content before, or wanted it changed: then no policy approves it.
local function was_rejected(own)
  return string.find(',' .. text_of(own, 'rejected') .. ',', ',' .. own.digest .. ',', 1, true) ~= nil
end

-- note_rejection(own): people have rejected this content, or want it changed. Of a change, the last 10 such contents are known.
local function note_rejection(own)
  if was_rejected(own) then return end
  local before = text_of(own, 'rejected')
  set_field(own, 'rejected', own.digest .. (before ~= '' and ',' .. string.sub(before, 1, 9 * 41 - 1) or ''))
end

-- note_objections(own): what people have said against the content of a change under review stays known.
local function note_objections(own)
  local counts = count_slots(own)
  if counts.rejected + counts.changes_requested > 0 then note_rejection(own) end
end

-- leave_review(own): a review is over: its requests leave all inboxes, and what people have said against this content stays known.
local function leave_review(own)
  leave_inboxes(own)
  note_objections(own)
end

-- move_to(ctx, own, state): bring a change into another state. Leaving a review closes its open requests; an ended change is kept for
-- a time. The caller notes the step.
local function move_to(ctx, own, state) local requests, ended, states = KEYS[3], KEYS[7], KEYS[8]
  if own.state == 'reviewing' then leave_review(own) end
  if (own.state == 'submitted' or own.state == 'reviewing') and state ~= 'reviewing' and state ~= 'submitted' then
    close_requests(own, own.timeout_at_ms <= ctx.now and 'expired' or 'cancelled')
  end
  redis.call('ZREM', states .. own.state, own.id)
  redis.call('ZADD', states .. state, own.created_ms, own.id)
  if is_ended(state) then
    set_field(own, 'completed_ms', ctx.now)
    redis.call('ZADD', ended, ctx.now_text, own.id)
    for _, one in ipairs(slots_of(own)) do redis.call('PEXPIRE', requests .. own.id .. '/' .. one.slot, 2592000000) end
  end
  set_field(own, 'state', state)
end

-- approve(ctx, own, by, why): the change is approved, for a time.
local function approve(ctx, own, by, why)
  move_to(ctx, own, 'approved')
  set_field(own, 'approved_ms', ctx.now)
  set_field(own, 'decided_by', by)
  set_field(own, 'until_ms', ctx.now + number_of(own, 'p_approval_ms'))
  set_field(own, 'attempts', 0)
  set_field(own, 'token', '')
  record_step(ctx, own, 'change.approved', by, '', why)
end

-- bytes_before(one, other): whether a text stands before another by its bytes, whatever the locale of the server.
local function bytes_before(one, other)
  for at = 1, math.min(#one, #other) do  -- at most 200: bytes of an id
    local mine, its = string.byte(one, at), string.byte(other, at)
    if mine ~= its then return mine < its end
  end
  return #one < #other
end

-- has_written(id, people): the first of these persons who is a contributor of a change, or nil.
local function has_written(id, people) local contributors = KEYS[2]
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

-- delegation_fields(stored): the fields of a delegation as it is stored, all of them texts.
local function delegation_fields(stored)
  local fields = {}
  for field, value in string.gmatch(stored, '([%a_]+)=(%S*)') do fields[field] = value end  -- at most 12: fields of a delegation
  return fields
end

-- delegations_of(ctx, person): the delegations of a person, { name, fields, at }, by the bytes of their names. A call reads them once.
local function delegations_of(ctx, person) local delegations = KEYS[12]
  local list = ctx.known[person]
  if list then return list end
  list = {}
  local stored = redis.call('HGETALL', delegations .. person)  -- at most 17: delegations of a person, and `#at`
  for at = 1, #stored, 2 do
    if string.sub(stored[at], 1, 1) ~= '#' then list[#list + 1] = { name = stored[at], fields = delegation_fields(stored[at + 1]) } end
  end
  if list[2] then table.sort(list, function(one, other) return bytes_before(one.name, other.name) end) end
  for at, one in ipairs(list) do one.at = at end  -- at most 16: delegations of a person
  ctx.known[person], ctx.looked = list, ctx.looked + 20 * #list
  return list
end

-- delegation_named(ctx, person, name): a delegation of a person by name, { name, fields, at }; or nil.
local function delegation_named(ctx, person, name)
  for _, one in ipairs(delegations_of(ctx, person)) do  -- at most 16: delegations of a person
    if one.name == name then return one end
  end
end

-- cascades(ctx, one): whether a request may be delegated on, by the delegation that led to its reviewer.
local function cascades(ctx, one)
  local giver, name = string.match(one.chain, '^.*>([^>]+)$'), string.match(one.via, '^.*>([^>:]*)[^>]*$')
  local led = giver and name ~= '' and delegation_named(ctx, giver, name)
  return not led or led.fields.cascade == '1'
end

-- domain_name(): the name of the domain, from its keys.
local function domain_name() local config = KEYS[15]
  return string.match(config, '^.*[:{]([^:{}]+)}?:config$')
end

-- end_run(ctx, own, by, how, why): a run is over: completed, failed, cancelled, or to be tried again (retry) if attempts are left.
local function end_run(ctx, own, by, how, why)
  local cancelled = text_of(own, 'cancelling') == '1'
  set_field(own, 'cancelling', '0')
  set_field(own, 'ended_ms', ctx.now)
  if how == 'retry' and cancelled then how = 'cancelled' end
  if how == 'retry' and number_of(own, 'attempts') >= number_of(own, 'p_max_attempts') then how = 'failed' end
  set_field(own, 'why', why)
  if how == 'retry' then
    move_to(ctx, own, 'approved')
    record_step(ctx, own, 'change.released', by, 'why=' .. why, '')
  else
    move_to(ctx, own, how)
    if how == 'completed' then record_step(ctx, own, 'change.completed', by, '', '') end
    if how == 'failed' then record_step(ctx, own, 'change.failed', by, 'why=' .. why, '') end
    if how == 'cancelled' then record_step(ctx, own, 'change.cancelled', by, 'why=' .. why, '') end
  end
end

-- end_lease(ctx, own): the lease of an applier is over. After the time of the run the change has failed; else it may be begun again,
-- while attempts are left and nobody has cancelled it.
local function end_lease(ctx, own)
  local late = own.deadline_ms >= number_of(own, 'started_ms') + number_of(own, 'run_ms') + 30000
  set_field(own, 'attempts', number_of(own, 'attempts') + 1)
  end_run(ctx, own, 'time', late and 'failed' or 'retry', late and 'timeout' or 'lost')
end

-- inbox_score(own): the place of its requests in inboxes; see keys.toml.
local function inbox_score(own)
  return string.format('%.0f', (number_of(own, 'risk_score') * 10 + number_of(own, 'weight')) * 4398046511104 + 4398046511103 - own.timeout_at_ms)
end

-- enter_inboxes(own): put the pending requests of a change into the inboxes of their reviewers, or at another place there, and likewise
-- among those that persons have delegated.
local function enter_inboxes(own) local inboxes, away = KEYS[5], KEYS[14]
  local score = inbox_score(own)
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    if one.status == 'pending' then
      redis.call('ZADD', inboxes .. one.reviewer, score, own.id .. '/' .. one.slot)
      for person in string.gmatch(one.chain, '[^>]+') do redis.call('ZADD', away .. person, score, own.id .. '/' .. one.slot) end  -- at most 4
    end
  end
end

-- holds_now(ctx, own, fields): whether a delegation is active, by its times too, and the risk of a change is one that it is for.
local function holds_now(ctx, own, fields)
  local from, till, above, below = tonumber(fields.from_ms), tonumber(fields.until_ms), tonumber(fields.risk_above), tonumber(fields.risk_below)
  if fields.active ~= '1' or from > ctx.now or till > 0 and till <= ctx.now then return false end
  if (above >= 0 or below >= 0) and number_of(own, 'risk_rev') ~= own.rev then return false end
  return not (above >= 0 and number_of(own, 'risk_score') <= above or below >= 0 and number_of(own, 'risk_score') >= below)
end

-- words_of(text): the words of a text, which has commas between them; one that begins with a comma has an empty word first.
local function words_of(text)
  local words = {}
  for word in string.gmatch(text .. ',', '([^,]*),') do words[#words + 1] = word end  -- at most 33: resources, and ''
  return words
end

-- wanted_words(ctx, list, field): each type, tag or resource that delegations of a person want → their places in the list; '' → those of the
-- delegations that want none. A call finds them once.
local function wanted_words(ctx, list, field)
  if list[field] then return list[field] end
  local wanted = {}
  for at, one in ipairs(list) do  -- at most 16: delegations of a person
    local words = words_of(one.fields[field])
    for _, word in ipairs(words) do  -- at most 16: types, tags or resources
      wanted[word] = wanted[word] or {}
      table.insert(wanted[word], at)
    end
    ctx.looked = ctx.looked + 20 * #words  -- to read one takes as long as to compare so many
  end
  list[field] = wanted
  return wanted
end

-- matching_with(ctx, list, field, text): which of these delegations of a person want no words in a field, or one of this text: their places in
-- the list → true; nil for none. It goes through the words of the change, not through the delegations: of a thousand, few want one of them.
local function matching_with(ctx, list, field, text)
  local wanted, matching, found = wanted_words(ctx, list, field), {}, nil
  ctx.words[text] = ctx.words[text] or words_of(',' .. text)
  for _, word in ipairs(ctx.words[text]) do  -- at most 33: resources, and ''
    local places = wanted[word]
    if places then
      for _, at in ipairs(places) do matching[at] = true end  -- at most 16: delegations of a person
      found, ctx.looked = matching, ctx.looked + #places
    end
  end
  ctx.looked = ctx.looked + 2 * #ctx.words[text]
  return found
end

-- matches(ctx, own, list): which of these delegations of a person are for the type, the tags and the resources of a change: their places in the
-- list → true.
local function matches(ctx, own, list)
  local types = list[1] and matching_with(ctx, list, 'types', text_of(own, 'type'))
  local tags = types and matching_with(ctx, list, 'tags', text_of(own, 'tags'))
  local resources, all = tags and matching_with(ctx, list, 'resources', text_of(own, 'resources')), {}
  for at in pairs(resources or {}) do all[at] = types[at] and tags[at] end  -- at most 16: delegations of a person
  return all
end

-- find_delegation(ctx, own, person): the first delegation of a person that holds now and fits a change, { name, fields, at }; or nil.
local function find_delegation(ctx, own, person)
  local list = delegations_of(ctx, person)
  local fitting = matches(ctx, own, list)
  for at, one in ipairs(list) do  -- at most 16: delegations of a person
    if fitting[at] and holds_now(ctx, own, one.fields) then return one end
  end
end

-- has_answered(own, person): whether this person, or an agent for it, has answered a request in this round; or it has for another.
local function has_answered(own, person)
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    if answered_by(one, person) then return true end
  end
  return false
end

-- leads_on(own, person, fields): whether a delegation of this person may lead a request on: neither the person nor, if it is an agent, the
-- person behind it has answered another request, and the latter is no contributor.
local function leads_on(own, person, fields)
  local behind = fields['for']
  if has_answered(own, person) or behind and has_answered(own, behind) then return false end
  return not behind or text_of(own, 'p_contributors_may_vote') == '1' or not has_written(own.id, { behind })
end

-- via_of(name, fields): how a request names the delegation that has led it on: its name and, if an agent has stored it, the person behind it.
local function via_of(name, fields)
  return fields['for'] and name .. ':' .. fields['for'] or name
end

-- follow_delegations(ctx, own, one): lead a request on from its reviewer, as the delegations of the persons say: `one` has the reviewer, the
-- chain and the delegations then. A step to somebody who may not answer ends the walk before it, a step from somebody who has answered
-- another request likewise, and a delegation without `cascade` behind it.
local function follow_delegations(ctx, own, one)
  if not cascades(ctx, one) then return end
  local steps = select(2, string.gsub(one.chain, '>', ''))
  for _ = steps + 1, number_of(own, 'p_delegation_depth') do  -- at most 4: delegation_depth
    local person = string.match(one.reviewer, '^user:(.+)$')
    local led = person and find_delegation(ctx, own, person)
    if not led or not leads_on(own, person, led.fields) or not can_be_asked(own, 'user:' .. led.fields.to) then return end
    one.reviewer, one.chain = 'user:' .. led.fields.to, one.chain .. '>' .. person
    one.via = one.via .. '>' .. via_of(led.name, led.fields)
    if led.fields.cascade == '0' then return end
  end
end

-- join_people(own, one): list a pending request with those who have it, or have delegated it.
local function join_people(own, one) local by_reviewer, away = KEYS[9], KEYS[14]
  redis.call('ZADD', by_reviewer .. one.reviewer, own.created_ms, own.id)
  for person in string.gmatch(one.chain, '[^>]+') do  -- at most 4: delegation_depth
    redis.call('ZADD', by_reviewer .. 'user:' .. person, own.created_ms, own.id)
    redis.call('ZADD', away .. person, inbox_score(own), own.id .. '/' .. one.slot)
  end
end

-- open_request(ctx, own, one): open a request for an answer to this revision, in this round.
local function open_request(ctx, own, one) local requests = KEYS[3]
  one.status, one.by, one.sender, own.list_changed = 'pending', '', '', true
  if one.chain ~= '' then join_people(own, one) end
  redis.call('HSET', requests .. own.id .. '/' .. one.slot, 'status', 'pending', 'round', own.round, 'rev', own.rev, 'digest', own.digest,
    'created_ms', ctx.now_text, 'assigned_ms', ctx.now_text, 'due_ms', own.timeout_at_ms, 'responded_ms', '', 'response_action', '',
    'response_reason', '', 'reviewed_by', '', 'principal', '')
end

-- new_request(ctx, own, one, name): make a request, and open it: for the reviewer, or for the person to whom policies of delegation lead
-- from there. name: of the reviewer, for people, or ''.
local function new_request(ctx, own, one, name) local requests = KEYS[3]
  local key = requests .. own.id .. '/' .. one.slot
  one.via = ''
  redis.call('HSET', key, 'reviewer', one.reviewer, 'reviewer_name', name, 'priority', text_of(own, 'review_priority'))
  if ctx.settings_delegations then follow_delegations(ctx, own, one) end
  local chain = string.gsub(string.sub(one.chain, 2), '>', ',')
  if chain ~= '' then
    redis.call('HSET', key, 'delegated_to', one.reviewer, 'delegation_chain', chain, 'via', (string.gsub(one.via, '>', ',')))
  end
  join_people(own, one)
  open_request(ctx, own, one)
  if chain ~= '' then
    record_step(ctx, own, 'change.delegated', 'delegation', 'slot=' .. one.slot .. ' to=' .. one.reviewer .. ' chain=' .. chain, '')
  end
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

-- next_slot(list): the number of the next request. It is one more than the last.
local function next_slot(list)
  return string.format('%d', list[#list].slot + 1)
end

-- escalate(ctx, own, by): ask the next of `escalate_to` as well, with a full interval for all who are asked. Returns whether there is one
-- request more.
local function escalate(ctx, own, by) local requests = KEYS[3]
  local name, level = next_asked(own)
  local list, levels = slots_of(own), select(2, string.gsub(text_of(own, 'p_escalate_to'), '[^,]+', ''))
  set_field(own, 'level', level)
  set_field(own, 'escalate_at_ms', level < levels and ctx.now + number_of(own, 'p_escalate_ms') or 0)
  if not name then return false end
  local added = { slot = next_slot(list), reviewer = name, chain = '' }
  set_field(own, 'timeout_at_ms', ctx.now + number_of(own, 'p_timeout_ms'))
  for _, one in ipairs(list) do  -- at most 31: slots
    if one.status == 'pending' then redis.call('HSET', requests .. own.id .. '/' .. one.slot, 'due_ms', own.timeout_at_ms) end
  end
  list[#list + 1] = added
  new_request(ctx, own, added, '')
  enter_inboxes(own)
  record_step(ctx, own, 'change.escalated', by, 'slot=' .. added.slot .. ' to=' .. added.reviewer, '')
  return true
end

-- has_denied_tag(own): whether one of the tags of a change forbids its policy to approve it.
local function has_denied_tag(own)
  for tag in string.gmatch(text_of(own, 'tags'), '[^,]+') do  -- at most 16: tags
    if string.find(',' .. text_of(own, 'p_deny_tags') .. ',', ',' .. tag .. ',', 1, true) then return true end
  end
  return false
end

-- is_assessed(ctx, own): whether the change has the risk and the preview of this revision that its policy needs. A preview is kept for a time.
local function is_assessed(ctx, own)
  local needs = text_of(own, 'p_needs')
  if (needs == 'risk' or needs == 'both') and number_of(own, 'risk_rev') ~= own.rev then return false end
  if needs ~= 'preview' and needs ~= 'both' then return true end
  return number_of(own, 'preview_rev') == own.rev and number_of(own, 'preview_until_ms') > ctx.now
end

-- read_request(text): a live request from its record. lock/keys.toml lists the fields. All values stay strings. A part
-- with `depends_on` relies on a lock that the owner already holds. If that lock is released while the request waits,
-- the request ends.
local function lock__read_request(text)
  local request, parts = {}, {}
  local list
  request.state, request.owner, request.agent, request.priority, request.since_ms, request.born_ms, request.ttl_ms,
    request.until_ms, request.order, request.granted_ms, list, request.purpose =
    string.match(text, '^(%S+) (%S+) (%S+) (%d) (%d+) (%d+) (%d+) (%d+) (%S+) (%d+) (%S+) (.*)$')
  for code, depends_on, fence, resource in string.gmatch(list, '(%w+)(%+?)/(%d+)=([^,]+)') do
    parts[#parts + 1] = { code = code, depends_on = depends_on, fence = fence, resource = resource }
  end
  request.parts = parts
  return request
end

-- record_of(ctx, rid): the record of a request, with the changes of this call; false if there is none.
local function lock__record_of(ctx, rid) local lock__requests = KEYS[18]
  if ctx.texts[rid] == nil then ctx.texts[rid] = redis.call('HGET', lock__requests, rid) end
  return ctx.texts[rid]
end

-- live_request(ctx, rid): the request with this rid if it holds or waits; nil if it has ended or is unknown.
local function lock__live_request(ctx, rid)
  local text = lock__record_of(ctx, rid)
  if text and string.sub(text, 1, 6) ~= 'ended ' then return lock__read_request(text) end
end

-- read_clock(layout_min, clock, chosen): the time in ms, as a number and as text; or nil and the error to return, if
-- the layout of these scripts or the clock of the call does not fit the stored data. chosen: the clock of a base that
-- this call may create.
local function lock__read_clock(layout_min, clock, chosen)
  if tonumber(layout_min or 1) > 1 then
    return nil, redis.error_reply('ADEQ_LAYOUT lock: this data needs scripts of layout ' .. layout_min
      .. ' or newer, these are of layout ' .. 1 .. ': upgrade this client')
  end
  if ((clock or chosen) == 'test') ~= (now_ms > 0) then
    if chosen and not clock then return nil, redis.error_reply('ADEQ_CLOCK lock: now_ms goes with clock=test, and only with it') end
    return nil, redis.error_reply('ADEQ_CLOCK lock: now_ms must be '
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
local function lock__open(clock, row) local lock__config = KEYS[17]
  row = row or redis.call('HMGET', lock__config, 'layout_min', 'clock')
  local now, now_text = lock__read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, offset = false, stepped = false, texts = false, fence = false, waiting = false, due = false }
end

-- open_domain(rids): open a call, and read what every call needs: the counters of the domain, the records of these
-- requests, and a time that never goes back (the offset adds what the server's clock has lost). Or nil and the error to
-- return.
local function lock__open_domain(rids) local lock__requests = KEYS[18]
  local ctx, refused = lock__open()
  if refused then return nil, refused end
  local row = redis.call('HMGET', lock__requests, '#now', '#offset', '#fence', '#waiting', '#due', unpack(rids))  -- at most 1,000: items
  local last, before = row[1] or 0, tonumber(row[2] or 0)
  local offset = math.max(before, last - ctx.now)
  if offset ~= 0 then
    ctx.now = ctx.now + offset
    ctx.now_text = string.format('%.0f', ctx.now)
  end
  local texts = { [rids[1] or ''] = row[6] }
  for i = 2, #rids do texts[rids[i]] = row[5 + i] end
  ctx.texts, ctx.offset, ctx.stepped = texts, offset, offset ~= before
  ctx.fence, ctx.waiting, ctx.due = row[3] or 0, (row[4] or 0) + 0, (row[5] or 0) + 0
  return ctx
end

-- lock_refusal(ctx, own, domain, rid): the first resource of a change that this request for locks does not hold alone for it; or nil, and
-- for how long it holds them all. domain: the lock domain of the settings, or nil if the call does not name it. Then nothing can be
-- verified, which is allowed only where the locks are in another slot.
-- USES lock
local function lock_refusal(ctx, own, domain, rid) local config, lock__deadlines = KEYS[15], KEYS[19]
  local resources = text_of(own, 'resources')
  if not ctx.settings_lock_domain or ctx.settings_lock_domain == 'none' or resources == '' then return nil end
  if not domain then return string.find(config, '}:change:', 1, true) and string.match(resources, '^[^,]+') or nil end
  local held, deadline = {}, tonumber(redis.call('ZSCORE', lock__deadlines, rid) or 0)
  local request = lock__live_request(domain, rid)
  if request and request.state == 'held' and request.owner == domain_name() .. '/' .. own.id and deadline > domain.now then
    for _, part in ipairs(request.parts) do  -- at most 32: locks of a request
      if part.code == 'x' then held[part.resource] = true end
    end
  end
  for name in string.gmatch(resources, '[^,]+') do  -- at most 32: resources
    if not held[name] then return name end
  end
  return nil, deadline - domain.now
end

-- needs_people(own): whether no policy may approve this change: it has, or has had since its submit, a tag that forbids it, or people have
-- rejected this content before.
local function needs_people(own)
  return text_of(own, 'denied') == '1' or has_denied_tag(own) or was_rejected(own)
end

-- put_out(ctx, follow): put a task into the outbox. The change is kept until it is delivered.
local function put_out(ctx, follow) local change, outbox, follows = KEYS[1], KEYS[10], KEYS[11]
  local name = follow.id .. ' ' .. follow.seq
  redis.call('ZADD', outbox, ctx.now_text, name)
  redis.call('HSET', follows, name, follow.text)
  redis.call('HINCRBY', change .. follow.id, 'undelivered', 1)
end

-- note_follow(ctx, own, event): the task that the policy wants after this step waits in the outbox; or, in a call that may enqueue it
-- itself, for the end of this call.
local function note_follow(ctx, own, event)
  local word = string.sub(event, 8)
  local wanted, lane, priority = string.match(';' .. text_of(own, 'p_follows'), ';' .. word .. '|([^|]*)|([^|]*)|(%d)')
  if not wanted then return end
  local follow = { id = own.id, seq = string.format('%.0f', own.seq),
    text = table.concat({ word, string.format('%.0f', own.rev), own.digest, wanted, lane, priority }, ' ') }
  if ctx.follows then
    ctx.follows[#ctx.follows + 1] = follow
  else
    put_out(ctx, follow)
  end
end

-- recheck_later(ctx, one): a request is open again, and delegations may have begun or ended since it was answered, or before its review
-- began: the next call that asks whose it is looks at them.
local function recheck_later(ctx, one) local delegating = KEYS[13]
  local person = ctx.settings_delegations and string.match(one.reviewer, '^user:(.+)$')
  if not person then return end
  for name in string.gmatch(person .. one.chain, '[^>]+') do  -- at most 5: delegation_depth and a reviewer
    redis.call('ZADD', delegating, ctx.now_text, name)
    ctx.late[name] = true
  end
end

-- open_requests(ctx, own): open all requests: no answer counts, and their times begin.
local function open_requests(ctx, own)
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    open_request(ctx, own, one)
    recheck_later(ctx, one)
  end
end

-- open_review(ctx, own, by): the requests of a change can be answered from now on; their times begin.
local function open_review(ctx, own, by)
  set_field(own, 'asked_ms', ctx.now)
  set_field(own, 'timeout_at_ms', ctx.now + number_of(own, 'p_timeout_ms'))
  set_field(own, 'remind_at_ms', number_of(own, 'p_remind_ms') > 0 and ctx.now + number_of(own, 'p_remind_ms') or 0)
  set_field(own, 'level', 0)
  set_field(own, 'escalate_at_ms', text_of(own, 'p_escalate_to') ~= '' and ctx.now + number_of(own, 'p_escalate_ms') or 0)
  enter_inboxes(own)
  record_step(ctx, own, 'change.reviewing', by, '', '')
end

-- open_round(ctx, own, by, why): begin a new round of review: all answers are void, and all requests are open again. The change is
-- reviewing, or first submitted, if its policy needs a risk or a preview of this revision.
local function open_round(ctx, own, by, why)
  if own.state == 'reviewing' then leave_inboxes(own) end
  set_field(own, 'round', own.round + 1)
  set_field(own, 'timeout_at_ms', ctx.now + number_of(own, 'p_timeout_ms'))
  set_field(own, 'decided_by', '')
  open_requests(ctx, own)
  record_step(ctx, own, 'change.outdated', by, 'why=' .. why, '')
  local state = is_assessed(ctx, own) and 'reviewing' or 'submitted'
  if state ~= own.state then move_to(ctx, own, state) end
  if state == 'reviewing' then open_review(ctx, own, by) end
end

-- read_fields(own, names): read these fields of a change in one command, for text_of and number_of.
local function read_fields(own, names) local change = KEYS[1]
  local row = redis.call('HMGET', change .. own.id, unpack(names))  -- at most 12: names
  for i, name in ipairs(names) do own[name] = row[i] or '' end
end

-- reject(ctx, own, by, why): the change is rejected: by `rejections`, because the quorum is `unreachable`, or by `timeout`.
local function reject(ctx, own, by, why)
  if why ~= 'timeout' then note_rejection(own) end
  set_field(own, 'why', why)
  set_field(own, 'decided_by', by)
  move_to(ctx, own, 'rejected')
  record_step(ctx, own, 'change.rejected', by, 'why=' .. why, '')
end

-- run_deadline(ctx, own, lease, left): until when the lease of a run lasts: not longer than the run may take, and a grace; and not longer
-- than its locks, which end after `left` ms, or nil.
local function run_deadline(ctx, own, lease, left)
  local ms = lease > 0 and lease or ctx.settings_lease_ms
  if left then ms = math.min(ms, left) end
  return math.min(ctx.now + ms, number_of(own, 'started_ms') + number_of(own, 'run_ms') + 30000)
end

-- time_out(ctx, own): nobody has decided in time: the change is rejected, unless its policy approves what is of low risk. It does not
-- approve what a reviewer has rejected or wants changed, in this review or in an earlier one, nor what a tag forbids it to approve.
local function time_out(ctx, own)
  local counts = count_slots(own)
  if own.state == 'reviewing' and text_of(own, 'p_on_timeout') == 'approve' and number_of(own, 'risk_rev') == own.rev
    and number_of(own, 'risk_score') < number_of(own, 'p_timeout_approve_below') and counts.rejected + counts.changes_requested == 0
    and not needs_people(own) then
    approve(ctx, own, 'policy:' .. text_of(own, 'policy'), 'timeout')
  else
    reject(ctx, own, 'time', 'timeout')
  end
end

-- take_due(ctx, own): do what is due for this change by now. An escalation that comes late comes before the timeout, and still gives
-- everybody a full interval: so the answer does not depend on when somebody looked.
local function take_due(ctx, own)
  for _ = 1, 6 do  -- at most 6: the end of a lease, that of an approval, three escalations, a timeout
    if due_of(own) > ctx.now then return end
    if own.state == 'applying' then
      end_lease(ctx, own)
    elseif own.state == 'approved' then
      set_field(own, 'risk_rev', 0)
      set_field(own, 'preview_rev', 0)
      open_round(ctx, own, 'time', 'approval_ended')
    elseif own.state == 'reviewing' and own.escalate_at_ms > 0 and own.escalate_at_ms <= math.min(own.timeout_at_ms, ctx.now) then
      escalate(ctx, own, 'time')
    elseif own.timeout_at_ms <= ctx.now then
      time_out(ctx, own)
    else
      set_field(own, 'remind_at_ms', ctx.now + number_of(own, 'p_remind_ms'))
      record_step(ctx, own, 'change.reminded', 'time', '', '')
    end
  end
end

-- whole_via(own, slot, chain, via): the delegations of a request, one for each person in its chain. Version 0.2.0 wrote some of them, or none,
-- into the slots of a change: then its record has all.
local function whole_via(own, slot, chain, via) local requests = KEYS[3]
  local function steps(text) return select(2, string.gsub(text, '>', '')) end
  if steps(via) == steps(chain) then return via end
  via = string.gsub(redis.call('HGET', requests .. own.id .. '/' .. slot, 'via') or '', ',', '>')
  return via .. string.rep('>', steps(chain) - steps(via))
end

  arg_made = { end_run = end_run, lock__open_domain = lock__open_domain, lock_refusal = lock_refusal, note_follow = note_follow, read_fields = read_fields, run_deadline = run_deadline, take_due = take_due, whole_via = whole_via }
  return arg_made
end

local ctx, refused = open()
if refused then return refused end
local domain
if verifies_locks(ctx) then domain, refused = arg_rare().lock__open_domain({}) end
if refused then return refused end
local own = load_change(ctx, id)
local status, missing, left = 'lost', nil, nil
if own and own.state == 'applying' then
  arg_rare().read_fields(own, { 'token', 'lease_ms', 'lock_rid', 'resources', 'started_ms', 'run_ms', 'cancelling' })
end
if own and own.state == 'applying' and own.token == token then
  if own.lock_rid ~= '' then missing, left = arg_rare().lock_refusal(ctx, own, domain, own.lock_rid) end
  if missing then
    status = 'lock_lost'
    set_field(own, 'attempts', number_of(own, 'attempts') + 1)
    arg_rare().end_run(ctx, own, 'time', 'retry', status)
  else
    set_field(own, 'deadline_ms', arg_rare().run_deadline(ctx, own, number_of(own, 'lease_ms'), left))
    local over = ctx.now >= number_of(own, 'started_ms') + number_of(own, 'run_ms')
    status = text_of(own, 'cancelling') == '1' and 'cancelling' or over and 'timed_out' or 'renewed'
  end
end
if own then save_change(ctx, own) end
take_others(ctx, 10)
if status == 'lost' then return { 'lost', ctx.now } end
return { status, ctx.now, missing or own.deadline_ms }
