#!lua
-- generated from lua/change/respond.v1.lua by lua/bundle.py; do not edit
-- change.respond.v1: answer requests, at most 100 in a call. An answer names the revision and the digest that the reviewer has seen. It
-- counts for the request of this slot, or for any request of the actor or of its groups. One person fills one slot in a round, and a
-- contributor none. A request belongs to a delegate only while the delegation holds now: its time, and its conditions for this revision.
-- Who has delegated a request, by hand or by a stored delegation, or whose agent has, answers no other one, and nobody answers what one has
-- delegated who is behind another answer: `answered`. Behind an answer are its person and the agent that has sent it. `retract` takes an
-- answer back; of an approved change, that begins a new round. `request_changes` keeps a change from being approved until the same person
-- answers again. `comment` only writes into the log.
-- A task that the policy wants after a step is enqueued at once, if the queue of the settings is in the same slot; else it waits in the
-- outbox. If another task has its id, it gets another id, and there is an event.
-- `later`: the conditions of delegations have taken long to compare; send these items in another call. The first item is always answered.
--
-- DATA   change            prefix/hash    {base}:change:       name
-- DATA   contributors      prefix/set     {base}:contributors: name
-- DATA   requests          prefix/hash    {base}:request:      id
-- DATA   logs              prefix/stream  {base}:log:          name
-- DATA   inboxes           prefix/zset    {base}:inbox:        label
-- DATA   due               zset           {base}:due
-- DATA   ended             zset           {base}:ended
-- DATA   states            prefix/zset    {base}:state:        label
-- DATA   by_reviewer       prefix/zset    {base}:by:reviewer:  label
-- DATA   outbox            zset           {base}:outbox
-- DATA   follows           hash           {base}:follows
-- DATA   delegations       prefix/hash    {base}:delegations:  label
-- DATA   delegating        zset           {base}:delegating
-- DATA   away              prefix/zset    {base}:away:         label
-- DATA   userstats         prefix/hash    {base}:userstats:    label
-- DATA   config            hash           {base}:config
-- DATA   once              hash           {base}:once
-- DATA   once_due          zset           {base}:once:due
-- DATA   events            stream         {base}:events
-- DATA   queue_config      hash           {queue}:config
-- DATA   queue_running     hash           {queue}:running
-- DATA   queue_leases      zset           {queue}:leases
-- DATA   queue_task        prefix/hash    {queue}:task:        id
-- DATA   queue_payload     prefix/string  {queue}:payload:     id
-- DATA   queue_reply       prefix/string  {queue}:reply:       id
-- DATA   queue_ready       prefix/zset    {queue}:ready:       lane
-- DATA   queue_lanes       set            {queue}:lanes
-- DATA   queue_wake        prefix/list    {queue}:wake:        lane
-- DATA   queue_delayed     zset           {queue}:delayed
-- DATA   queue_blocked     zset           {queue}:blocked
-- DATA   queue_deadlines   zset           {queue}:deadlines
-- DATA   queue_finished    zset           {queue}:finished
-- DATA   queue_dead        zset           {queue}:dead
-- DATA   queue_control     prefix/list    {queue}:control:     id
-- DATA   queue_once        hash           {queue}:once
-- DATA   queue_once_due    zset           {queue}:once:due
-- DATA   queue_by_user     prefix/zset    {queue}:by:user:     label
-- DATA   queue_by_tag      prefix/zset    {queue}:by:tag:      label
-- DATA   queue_children    prefix/zset    {queue}:children:    id
-- DATA   queue_dependents  prefix/zset    {queue}:dependents:  id
-- DATA   queue_order       prefix/zset    {queue}:order:       id
-- DATA   queue_ends        zset           {queue}:ends
-- DATA   queue_limits      hash           {queue}:limits
-- DATA   queue_waiting     prefix/zset    {queue}:waiting:     limit
-- DATA   queue_limit_lines zset           {queue}:limit:lines
-- DATA   queue_weights     hash           {queue}:weights
-- DATA   queue_shares      prefix/zset    {queue}:shares:      lane
-- DATA   queue_channel     prefix/channel {queue}:channel:     id
-- DATA   queue_counters    hash           {queue}:counters
-- DATA   queue_events      stream         {queue}:events
-- ARGV   rid          id
-- ARGV   actor        label
-- ARGV   caller       label             ?=
-- ARGV   principal    label             ?=
-- ARGV   kind         enum person|agent ?=person
-- ARGV   groups       labels 0..32      ?=
-- ARGV   proof        bytes 0..200      ?=
-- ARGV   source       bytes 0..200      ?=
-- ARGV   trace        bytes 0..128      ?=
-- ARGV   now_ms       int 0..9000000000000 ?=0
-- ITEM   id           name
-- ITEM   rev          int 1..1000000000
-- ITEM   digest       bytes 40..40
-- ITEM   action       enum approve|reject|request_changes|comment|abstain|retract
-- ITEM   slot         int 0..100000     ?=0
-- ITEM   reason       bytes 0..4096     ?=
-- GROUP  item         1..100
-- RETURN ok           now_ms:int items:list(item)
-- EACH   item         recorded state:text round:int
-- EACH   item         approved state:text round:int
-- EACH   item         rejected state:text round:int
-- EACH   item         commented
-- EACH   item         same
-- EACH   item         closed state:text why:text by:text
-- EACH   item         not_eligible reason:text
-- EACH   item         outdated rev:int digest:text
-- EACH   item         state state:text
-- EACH   item         full
-- EACH   item         not_found
-- EACH   item         later
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  change.answered change.changes_requested change.commented change.outdated change.reviewing change.reminded change.escalated change.delegated
-- EVENT  change.rejected change.approved change.released change.failed change.cancelled
-- EVENT  task.enqueued task.unblocked task.dead task.cancelled task.limited
-- ROLE   review
-- REPLAY rid
-- USES   queue
-- COST   5 commands and 13 for each answer, 2 for each open request of a change that it decides; at most 39,000 commands, 1,600,000 steps

local MAX_SAFE = 9007199254740991
local BAND = 281474976710656
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
local function arg_ids(v, min, max, is_label)
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
  local arg_base_queue = string.match(KEYS[2], '^([%w._@+-]+:{[%w._@+-]+}:queue:[%w._@+-]+):config$')
  if not arg_base_queue or #arg_base_queue > 100 or string.match(arg_base_queue, '^[^}]*') ~= string.match(arg_base, '^[^}]*') then
    arg_base_queue = arg_base_queue or KEYS[2] == arg_base .. '!none:config' and arg_base .. '!none'
    for part in string.gmatch(arg_base_queue or '', '[%w._@+-]+') do
      if #part > 100 then arg_base_queue = nil end
    end
    if arg_base_queue and string.match(arg_base_queue, '^[^}]*') ~= string.match(arg_base, '^[^}]*') then arg_base_queue = nil end
    if not arg_base_queue then return refuse('key queue_config', KEYS[2], '<prefix>:{<slot>}:queue:<name>:config, <base>!none:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -, in the slot of {base}') end
  end
  if KEYS[3] ~= arg_base .. '!review' then return refuse('key gate', KEYS[3], arg_base .. '!review') end
  KEYS = { arg_base .. ':change:', arg_base .. ':contributors:', arg_base .. ':request:', arg_base .. ':log:', arg_base .. ':inbox:', arg_base .. ':due', arg_base .. ':ended', arg_base .. ':state:', arg_base .. ':by:reviewer:', arg_base .. ':outbox', arg_base .. ':follows', arg_base .. ':delegations:', arg_base .. ':delegating', arg_base .. ':away:', arg_base .. ':userstats:', arg_base .. ':config', arg_base .. ':once', arg_base .. ':once:due', arg_base .. ':events', arg_base_queue .. ':config', arg_base_queue .. ':running', arg_base_queue .. ':leases', arg_base_queue .. ':task:', arg_base_queue .. ':payload:', arg_base_queue .. ':reply:', arg_base_queue .. ':ready:', arg_base_queue .. ':lanes', arg_base_queue .. ':wake:', arg_base_queue .. ':delayed', arg_base_queue .. ':blocked', arg_base_queue .. ':deadlines', arg_base_queue .. ':finished', arg_base_queue .. ':dead', arg_base_queue .. ':control:', arg_base_queue .. ':once', arg_base_queue .. ':once:due', arg_base_queue .. ':by:user:', arg_base_queue .. ':by:tag:', arg_base_queue .. ':children:', arg_base_queue .. ':dependents:', arg_base_queue .. ':order:', arg_base_queue .. ':ends', arg_base_queue .. ':limits', arg_base_queue .. ':waiting:', arg_base_queue .. ':limit:lines', arg_base_queue .. ':weights', arg_base_queue .. ':shares:', arg_base_queue .. ':channel:', arg_base_queue .. ':counters', arg_base_queue .. ':events' }
end

local rid = ARGV[1]
if not rid or #rid > 200 or not arg_find(rid, '^[%w._:/@+-]+$') then
  return refuse('rid', rid, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local actor = ARGV[2]
if not actor or #actor > 200 or not (arg_find(actor, '^[%w._:/@+-]+$') or arg_label(actor)) then
  return refuse('actor', actor, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
end
local caller = ARGV[3]
if caller ~= '' and (not caller or #caller > 200 or not (arg_find(caller, '^[%w._:/@+-]+$') or arg_label(caller))) then
  return refuse('caller', caller, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
end
local principal = ARGV[4]
if principal ~= '' and (not principal or #principal > 200 or not (arg_find(principal, '^[%w._:/@+-]+$') or arg_label(principal))) then
  return refuse('principal', principal, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
end
local kind = ARGV[5]
if kind == '' then
  kind = 'person'
elseif kind ~= 'person' and kind ~= 'agent' then
  return refuse('kind', kind, 'one of person, agent')
end
local groups = ARGV[6]
if groups == '' then
  groups = {}
else
  groups = arg_ids(groups, 0, 32, arg_label)
  if not groups then return refuse('groups', ARGV[6], '0 to 32 labels with commas between them') end
end
local proof = ARGV[7]
if not proof or #proof > 200 then
  return refuse('proof', proof and #proof, '0 to 200 bytes long')
end
local source = ARGV[8]
if not source or #source > 200 then
  return refuse('source', source and #source, '0 to 200 bytes long')
end
local trace = ARGV[9]
if not trace or #trace > 128 then
  return refuse('trace', trace and #trace, '0 to 128 bytes long')
end
local now_ms = ARGV[10]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[10], 'an integer from 0 to 9000000000000') end
end
local arg_at = 11
local item_count = ARGV[arg_at]
item_count = arg_uint(item_count, 1, 100)
if not item_count then return refuse('item_count', ARGV[arg_at], 'an integer from 1 to 100') end
arg_at = arg_at + 1
local item_id, item_rev, item_digest, item_action, item_slot, item_reason = {}, {}, {}, {}, {}, {}
for i = 1, item_count do
  local v = ARGV[arg_at]
  if not v or #v > 100 or not arg_find(v, '^[%w._@+-]+$') then
    return refuse('item[' .. i .. '].id', v, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
  end
  item_id[i] = v
  v = ARGV[arg_at + 1]
  v = arg_uint(v, 1, 1000000000)
  if not v then return refuse('item[' .. i .. '].rev', ARGV[arg_at + 1], 'an integer from 1 to 1000000000') end
  item_rev[i] = v
  v = ARGV[arg_at + 2]
  if not v or #v < 40 or #v > 40 then
    return refuse('item[' .. i .. '].digest', v and #v, '40 to 40 bytes long')
  end
  item_digest[i] = v
  v = ARGV[arg_at + 3]
  if v ~= 'approve' and v ~= 'reject' and v ~= 'request_changes' and v ~= 'comment' and v ~= 'abstain' and v ~= 'retract' then
    return refuse('item[' .. i .. '].action', v, 'one of approve, reject, request_changes, comment, abstain, retract')
  end
  item_action[i] = v
  v = ARGV[arg_at + 4]
  if v == '' then
    v = 0
  else
    v = arg_uint(v, 0, 100000)
    if not v then return refuse('item[' .. i .. '].slot', ARGV[arg_at + 4], 'an integer from 0 to 100000') end
  end
  item_slot[i] = v
  v = ARGV[arg_at + 5]
  if not v or #v > 4096 then
    return refuse('item[' .. i .. '].reason', v and #v, '0 to 4096 bytes long')
  end
  item_reason[i] = v
  arg_at = arg_at + 6
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end

local arg_rare

-- count_answer(ctx, action, since_ms): count an answer for the statistics of the actor; since_ms: when the request was opened, or nil if
-- it was answered before.
local function count_answer(ctx, action, since_ms) local userstats = KEYS[15]
  local key, day = userstats .. actor, math.floor(ctx.now / 86400000)
  local field = (action == 'approve' and 'a:' or 'r:') .. string.format('%.0f', day)
  local took, bound = ctx.now - (since_ms or ctx.now), 1
  while bound < took and bound < 4294967296 do bound = bound * 2 end  -- at most 32: doublings
  local bucket = string.format('took:%.0f', bound)
  local row = redis.call('HMGET', key, 'last_ms', field, 'answers', 'took_ms', bucket)
  if math.floor((row[1] or 0) / 86400000) ~= day then
    for _, name in ipairs(redis.call('HKEYS', key)) do  -- at most 150: two for each of 31 days, 33 bounds, three totals
      local past = string.match(name, '^[ar]:(%d+)$')
      if past and tonumber(past) <= day - 31 then redis.call('HDEL', key, name) end
    end
  end
  local new = { 'last_ms', ctx.now_text }
  if action == 'approve' or action == 'reject' then new[3], new[4] = field, (row[2] or 0) + 1 end
  if since_ms then
    new[#new + 1] = 'answers'
    new[#new + 1] = (row[3] or 0) + 1
    new[#new + 1] = 'took_ms'
    new[#new + 1] = (row[4] or 0) + took
    new[#new + 1] = bucket
    new[#new + 1] = (row[5] or 0) + 1
  end
  redis.call('HSET', key, unpack(new))  -- at most 10: two for each field
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

-- count_slots(own): how many requests are approved, rejected, pending, and wait for another revision.
local function count_slots(own)
  local counts = { approved = 0, rejected = 0, pending = 0, changes_requested = 0 }
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    if counts[one.status] then counts[one.status] = counts[one.status] + 1 end
  end
  return counts
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

-- decide(ctx, own, by): decide a review whose answers have changed, if they are enough. If the quorum cannot be reached any more, the
-- next level of escalation is asked; without one, the change is rejected. Returns what was decided, or nil.
local function decide(ctx, own, by)
  local counts = count_slots(own)
  if number_of(own, 'p_rejections') > 0 and counts.rejected >= number_of(own, 'p_rejections') then
    arg_rare().reject(ctx, own, by, 'rejections')
    return 'rejected'
  end
  if counts.approved >= number_of(own, 'p_required') and counts.changes_requested == 0 then
    arg_rare().approve(ctx, own, by, '')
    return 'approved'
  end
  if counts.approved + counts.pending + counts.changes_requested < number_of(own, 'p_required') and not arg_rare().escalate(ctx, own, by) then
    arg_rare().reject(ctx, own, by, 'unreachable')
    return 'rejected'
  end
end

-- has_written(id, people): the first of these persons who is a contributor of a change, or nil.
local function has_written(id, people) local contributors = KEYS[2]
  local found = redis.call('SMISMEMBER', contributors .. id, unpack(people))  -- at most 8: an actor, a principal, a chain
  for i, one in ipairs(people) do
    if found[i] == 1 then return one end
  end
end

-- find_request(ctx, own, slot, person, action): the request that this call answers: the one that this person has answered in this round, or
-- else a pending one that asks the actor, before one that asks a group of the actor; slot 0: any. Or nil and why the person may not answer.
local function find_request(ctx, own, slot, person, action)
  if kind == 'agent' and text_of(own, 'p_agents_may_vote') ~= '1' then return nil, 'agent' end
  if text_of(own, 'p_contributors_may_vote') ~= '1' and has_written(own.id, { actor, person }) then return nil, 'contributor' end
  local member = { ['user:' .. actor] = 2 }
  for _, group in ipairs(groups) do member['group:' .. group] = 1 end  -- at most 32: groups
  local found, best, why = nil, 0, 'not_reviewer'
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    local fits, rank = slot == 0 or tonumber(one.slot) == slot, member[one.reviewer] or 0
    if one.by == person then
      if not fits or rank == 0 then return nil, 'answered' end
      if action ~= 'retract' and not arg_rare().still_holds(ctx, own, one) then return nil, 'not_reviewer' end
      if action ~= 'retract' and arg_rare().is_behind_another(own, one, { actor, person }) then return nil, 'answered' end
      return one
    end
    if one.status == 'pending' and fits and rank > best then
      if arg_rare().is_behind_another(own, one, { actor, person }) then why = 'answered' else found, best = one, rank end
    end
  end
  return found, why
end

-- keep_moves(ctx, own, moves, only): undo the moves of resolve_requests, and write that of this request: the others are found again by the next
-- call. If a person gets it who has another one still, by a delegation that does not hold any more, then that one goes back. only: a request,
-- `all`, or nil for none.
local function keep_moves(ctx, own, moves, only) local requests = KEYS[3]
  local wanted, kept = nil, {}
  for _, move in ipairs(moves) do  -- at most 32: slots
    local one = move.one
    move.to = { reviewer = one.reviewer, chain = one.chain, via = one.via }
    one.reviewer, one.chain, one.via = move.reviewer, move.chain, move.via
    if one == only then wanted = move end
  end
  for _, move in ipairs(moves) do  -- at most 32: slots
    if only == 'all' or move == wanted then
      kept[#kept + 1] = move
    elseif wanted and arg_rare().shares_person(move, wanted.to) then
      move.to = move.cut
      kept[#kept + 1] = move
    end
  end
  for _, move in ipairs(kept) do  -- at most 32: slots
    local one, to = move.one, move.to
    move.stays = to.reviewer == one.reviewer and to.chain == one.chain
    if not move.stays then arg_rare().leave_place(own, one) end
  end
  for _, move in ipairs(kept) do  -- at most 32: slots
    local one, to = move.one, move.to
    if move.stays then
      arg_rare().keep_principals(own, one, one, to.chain, to.via)
      one.via, own.list_changed = to.via, true
      redis.call('HSET', requests .. own.id .. '/' .. one.slot, 'via', (string.gsub(to.via, '>', ',')))
    else
      arg_rare().take_place(ctx, own, one, to.reviewer, to.chain, to.via)
      arg_rare().record_led(ctx, own, one, move.reviewer)
    end
  end
end

-- emit(ctx, event, id, detail): add an entry to the stream, if the noun keeps events. detail: `name=value` words, or
-- ''. The trace is ctx.trace, that of the task, or else that of the call.
local function emit(ctx, event, id, detail) local events = KEYS[19]
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
    arg_rare().put_out(ctx, follow)
  end
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
  if text_of(own, 'p_follows') ~= '' then note_follow(ctx, own, event) end
  emit(ctx, event, own.id, 'rev=' .. own.rev .. ' round=' .. own.round .. ' by=' .. by .. (sender ~= '' and ' caller=' .. sender or '')
    .. (detail ~= '' and ' ' .. detail or ''))
end

-- cascades(ctx, one): whether a request may be delegated on, by the delegation that led to its reviewer.
local function cascades(ctx, one)
  local giver, name = string.match(one.chain, '^.*>([^>]+)$'), string.match(one.via, '^.*>([^>:]*)[^>]*$')
  local led = giver and name ~= '' and arg_rare().delegation_named(ctx, giver, name)
  return not led or led.fields.cascade == '1'
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
    local led = person and arg_rare().find_delegation(ctx, own, person)
    if not led or not arg_rare().leads_on(own, person, led.fields) or not arg_rare().can_be_asked(own, 'user:' .. led.fields.to) then return end
    one.reviewer, one.chain = 'user:' .. led.fields.to, one.chain .. '>' .. person
    one.via = one.via .. '>' .. via_of(led.name, led.fields)
    if led.fields.cascade == '0' then return end
  end
end

-- resolve_requests(ctx, own, all): lead the pending requests of a change to whom they belong now: first back to those whose delegations do not
-- hold any more, then on, in the order of their slots. Only in this call: keep_moves writes it. all: the change is another, so all
-- conditions are tested. Returns the moves: { one, reviewer, chain, via, cut }, the request with where it was, and where it went back to.
local function resolve_requests(ctx, own, all)
  local places, moves = {}, {}
  if not ctx.settings_delegations and not ctx.delegates then return moves end
  if own.state ~= 'submitted' and own.state ~= 'reviewing' then return moves end
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    local person = one.status == 'pending' and string.match(one.reviewer, '^user:(.+)$')
    if person then
      local place = { one = one, reviewer = one.reviewer, chain = one.chain, via = one.via }
      if arg_rare().cut_chain(ctx, own, one, all) or all or arg_rare().is_late(ctx, person) then
        place.cut = { reviewer = one.reviewer, chain = one.chain, via = one.via }
        places[#places + 1] = place
      end
    end
  end
  for _, place in ipairs(places) do  -- at most 32: slots
    local one = place.one
    follow_delegations(ctx, own, one)
    if one.reviewer ~= place.reviewer or one.chain ~= place.chain or one.via ~= place.via then moves[#moves + 1] = place end
  end
  return moves
end

-- answer(ctx, own, i, person): give the answer of item i to a request of this change, and decide the review if that is enough.
local function answer(ctx, own, i, person) local requests, inboxes = KEYS[3], KEYS[5]
  local action, reason = item_action[i], item_reason[i]
  if action == 'comment' then return arg_rare().comment(ctx, own, reason) end
  if own.state == 'draft' or own.state == 'submitted' then return { 'state', own.state } end
  if own.state ~= 'reviewing' and not (own.state == 'approved' and action == 'retract') then
    return { 'closed', own.state, text_of(own, 'why'), text_of(own, 'decided_by') }
  end
  if item_rev[i] ~= own.rev or item_digest[i] ~= own.digest then return { 'outdated', own.rev, own.digest } end
  local moves = resolve_requests(ctx, own)
  local one, why = find_request(ctx, own, item_slot[i], person, action)
  keep_moves(ctx, own, moves, one)
  if not one then return { 'not_eligible', why } end
  local status = ({ approve = 'approved', reject = 'rejected', request_changes = 'changes_requested', abstain = 'abstained' })[action]
  if one.status == (status or 'pending') then return { 'same' } end
  if own.state == 'approved' and one.status ~= 'approved' then return { 'closed', own.state, text_of(own, 'why'), text_of(own, 'decided_by') } end
  if not status then return arg_rare().retract(ctx, own, one, reason) end

  local key, since_ms = requests .. own.id .. '/' .. one.slot, nil
  if one.status == 'pending' then
    since_ms = redis.call('HGET', key, 'assigned_ms')
    redis.call('ZREM', inboxes .. one.reviewer, own.id .. '/' .. one.slot)
    if one.chain ~= '' then arg_rare().leave_away(own, one) end
  end
  one.status, one.by, one.sender, own.list_changed = status, person, actor ~= person and actor or '', true
  redis.call('HSET', key, 'status', status, 'responded_ms', ctx.now_text, 'response_action', action, 'response_reason', reason,
    'reviewed_by', actor, 'principal', person)
  count_answer(ctx, action, since_ms)
  record_step(ctx, own, 'change.answered', actor, 'slot=' .. one.slot .. ' action=' .. action .. ' for=' .. person, reason)
  if action == 'request_changes' then record_step(ctx, own, 'change.changes_requested', actor, 'slot=' .. one.slot, reason) end
  return { decide(ctx, own, actor) or 'recorded', own.state, own.round }
end

-- done_before(ctx, verb): the answer that an earlier call with this verb and rid stored in the last minute, or nil.
local function done_before(ctx, verb) local once = KEYS[17]
  if rid == '' then return nil end
  local word, until_ms = string.match(redis.call('HGET', once, 'done:' .. verb .. ':' .. rid) or '', '^(%S+) (%d+)$')
  if word and tonumber(until_ms) > ctx.now then return word end
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

-- hold_once(ctx, field, id, keep_ms, stamp): make a key of `once` refer to a task, for keep_ms or, without keep_ms,
-- until it is released. stamp: that of the enqueue that made the task, if its record does not know the key; the key no
-- longer counts once that was purged.
local function hold_once(ctx, field, id, keep_ms, stamp) local once, once_due = KEYS[17], KEYS[18]
  if not keep_ms then
    redis.call('HSET', once, field, id)
    return
  end
  local until_text = string.format('%.0f', ctx.now + keep_ms)
  redis.call('HSET', once, field, id .. ' ' .. until_text .. (stamp and ' ' .. stamp or ''))
  redis.call('ZADD', once_due, until_text, field)
  ctx.held = (ctx.held or 0) + 1
end

-- looked_enough(ctx): whether this call has compared so much that it ends here, with the rest for the next one. How much is done in a call
-- depends on it, but nobody's request. It is about 60 ms of work.
local function looked_enough(ctx)
  return ctx.looked > 500000
end

-- sweep_once(ctx, limit): delete expired fields of `once`, at most limit. Returns the number.
local function sweep_once(ctx, limit) local once, once_due = KEYS[17], KEYS[18]
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

-- note_reply(ctx, verb, answers): remember what this call answers, in case it is sent again. An answer is a status and its fields:
-- whole numbers, and texts without spaces, commas and `|`.
-- EARLY
local function note_reply(ctx, verb, answers)
  if not ctx.exists and not ctx.made then return end
  local items = {}
  for i, answer in ipairs(answers) do  -- at most 100: items
    local parts = {}
    for j, value in ipairs(answer) do
      parts[j] = value == value .. '' and 't' .. value or 'i' .. string.format('%.0f', value)
    end
    items[i] = table.concat(parts, '|')
  end
  note_done(ctx, verb, table.concat(items, ','))
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
local function open(clock, row) local config = KEYS[16]
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'batch_approvals', 'follow_queue', 'events_max', 'delegations')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_batch_approvals = row[3] ~= '0', settings_follow_queue = row[4], settings_events_max = tonumber(row[5] or 100000), settings_delegations = row[6] == '1', known = {}, late = {}, words = {}, looked = 0 }
end

-- refuse_hidden(field, name): the error if the name of a person or a group has a character that nobody sees: it would look like another name,
-- and be another voter. Or nil.
local function refuse_hidden(field, name)
  if not string.find(name, '[\194-\244]') then return nil end
  local forms = {  -- U+00AD 034F 061C 070F, 115F-1160, 17B4-17B5, 180B-180F, 200B-200F and 202A-202E, 2060-206F, 2800, 3164, FE00-FE0F, FEFF, FFA0
    '\194\173', '\205\143', '\216\156', '\220\143', '\225\133[\159\160]', '\225\158[\180\181]', '\225\160[\139-\143]', '\226\128[\139-\143\170-\174]',
    '\226\129[\160-\175]', '\226\160\128', '\227\133\164', '\239\184[\128-\143]', '\239\187\191', '\239\190\160',
    '\239\191[\176-\187]', '\240\147\144[\176-\191]', '\240\150\191\164', '\240\155\178[\160-\163]',  -- FFF0-FFFB, 13430-1343F, 16FE4, 1BCA0-1BCA3
    '\240\157\133\153', '\240\157\133[\179-\186]', '\243\160',  -- 1D159, 1D173-1D17A, E0000-E0FFF
  }
  for _, form in ipairs(forms) do  -- at most 21: forms
    if string.find(name, form) then return refuse(field, name, 'a name without invisible characters, such as U+00AD or U+200B') end
  end
end

-- person_behind(): the person who answers for the actor of this call; or nil and the error to return.
local function person_behind()
  local refused = refuse_hidden('actor', actor) or refuse_hidden('principal', principal)
  if refused then return nil, refused end
  if kind == 'agent' and (principal == '' or principal == actor) then
    return nil, refuse('principal', principal, 'the person who answers for the agent')
  end
  if kind == 'person' and principal ~= '' and principal ~= actor then
    return nil, refuse('principal', principal, 'the actor or empty, because a person answers for itself; an agent is kind=agent')
  end
  return principal ~= '' and principal or actor
end

-- add_count(ctx, name, n): count in this call; write_counts stores it.
local function queue__add_count(ctx, name, n)
  ctx.counts[name] = (ctx.counts[name] or 0) + n
end

-- emit(ctx, event, id, detail): add an entry to the stream, if the noun keeps events. detail: `name=value` words, or
-- ''. The trace is ctx.trace, that of the task, or else that of the call.
local function queue__emit(ctx, event, id, detail) local queue__events = KEYS[50]
  if ctx.settings_events_max == 0 then return end
  local source = ctx.restricted and '' or source  -- of the call: it is also that of a new task, and its tier may hide it
  if detail ~= '' and source == '' and trace == '' and not ctx.trace then
    redis.call('XADD', queue__events, 'MAXLEN', '~', ctx.settings_events_max, '*', 'event', event, 'timestamp', ctx.now_text, 'id', id,
      'payload', detail)
    return
  end
  local entry = { 'event', event, 'timestamp', ctx.now_text, 'id', id }
  if detail ~= '' then entry[7], entry[8] = 'payload', detail end
  if source ~= '' then entry[#entry + 1] = 'source'; entry[#entry + 1] = source end
  local traced = ctx.trace or trace
  if traced ~= '' then entry[#entry + 1] = 'trace'; entry[#entry + 1] = traced end
  redis.call('XADD', queue__events, 'MAXLEN', '~', ctx.settings_events_max, '*', unpack(entry))  -- at most 12: fields of an event
end

-- line_up(by_lane, lane, score, id): note a task for make_ready.
-- EARLY
local function queue__line_up(by_lane, lane, score, id)
  local members = by_lane[lane]
  if not members then
    members = {}
    by_lane[lane] = members
  end
  members[#members + 1] = score
  members[#members + 1] = id
end

-- index_task(ctx, by_index, id, own): note a new task for the indexes of its user, tags and parent.
-- EARLY
local function queue__index_task(ctx, by_index, id, own) local queue__by_user, queue__by_tag, queue__children = KEYS[37], KEYS[38], KEYS[39]
  if own.user then queue__line_up(by_index, queue__by_user .. own.user, ctx.now_text, id) end
  if own.tags then
    local seen = {}
    for _, tag in ipairs(own.tags) do
      if not seen[tag] then queue__line_up(by_index, queue__by_tag .. tag, ctx.now_text, id) end
      seen[tag] = true
    end
  end
  if own.parent then queue__line_up(by_index, queue__children .. own.parent, ctx.now_text, id) end
end

-- push_wake(ctx, lane, was_empty): push a wake-up token for a blocked worker, unless the queue is paused. One is enough: it
-- is a hint, not a task.
-- was_empty: the lane may have been empty. Then its token may be for a due time, and must not expire any more.
local function queue__push_wake(ctx, lane, was_empty) local queue__wake = KEYS[28]
  if (ctx.mode or ctx.settings_mode) == 'paused' then return was_empty and redis.call('PERSIST', queue__wake .. lane) end
  if redis.call('EXISTS', queue__wake .. lane) == 0 then redis.call('LPUSH', queue__wake .. lane, '1') elseif was_empty then redis.call('PERSIST', queue__wake .. lane) end
end

-- make_ready(ctx, by_lane): put tasks into their lanes and wake a worker for each lane. by_lane[lane] = { score, id,
-- score, id, … } (line_up). The shares of a lane with waiting tasks do not expire.
local function queue__make_ready(ctx, by_lane) local queue__ready, queue__lanes, queue__shares = KEYS[26], KEYS[27], KEYS[47]
  local names, begun = {}, 0
  for lane, members in pairs(by_lane) do
    names[#names + 1] = lane
    for first = 1, #members, 7000 do
      redis.call('ZADD', queue__ready .. lane, unpack(members, first, math.min(first + 6999, #members)))
    end
    if ctx.settings_fair > 0 then redis.call('PERSIST', queue__shares .. lane) end
  end
  for first = 1, #names, 7000 do
    begun = begun + redis.call('SADD', queue__lanes, unpack(names, first, math.min(first + 6999, #names)))
  end
  for _, lane in ipairs(names) do queue__push_wake(ctx, lane, begun > 0) end
end

-- place_task(ctx, id, own, place, by_lane): put a new task where it waits: for other tasks, for its time, in its lane,
-- or in the queue of a limit if others wait there already.
-- EARLY
local function queue__place_task(ctx, id, own, place, by_lane)
  if own.awaits then return end  -- for other tasks: join_chains has placed it
  local due_ms = math.max(ctx.now + (own.delay_ms or 0), own.run_after_ms or 0)
  local tied = own.fallback_after_ms or own.expires_at_ms
  if due_ms > ctx.now then
    arg_rare().queue__delay_until(ctx, due_ms, id, own.lane or 'any')
  else
    local band = own.priority or 5
    local score = band * BAND + (ctx.settings_fair > 0 and arg_rare().queue__share_place(ctx, own.lane or 'any', own.user or '', band) or place)
    local limit = ctx.settings_limits > 0 and arg_rare().queue__find_line(ctx, own)
    if limit then
      ctx.lined[#ctx.lined + 1] = id
      if ctx.settings_fair > 0 then ctx.aside[own.lane or 'any'] = true end
      return arg_rare().queue__join_limit(ctx, id, string.format('%.0f', score), limit, arg_rare().queue__full_score(ctx), tied)
    end
    queue__line_up(by_lane, own.lane or 'any', score, id)
  end
  if tied then arg_rare().queue__await_deadline(ctx, id, due_ms) end
end

-- write_record(id, stamp, ctx, own, size): write the record of a new task: its pairs, the tier of the queue, source and trace
-- of the call unless the task has its own source, and `ties` if it needs more than usual at its first lease, its return or
-- its end. ctx.restricted: whether a new task is: then events do not name the source. If an older task of this id left a
-- stub, its settlement stays known as `settled_earlier`, and so do the last eight calls that enqueued it. A link of another
-- family (shorten_family) is no longer one.
-- EARLY
local function queue__write_record(id, stamp, ctx, own, size) local queue__task, queue__children = KEYS[23], KEYS[39]
  local key, tier = queue__task .. id, ctx.settings_tier
  local old = ctx.some_known and redis.call('HMGET', key, 'gone', 'rid', 'earlier', 'settled', 'link')
  if old and old[5] then
    redis.call('HDEL', key, 'link', 'pruned')
    redis.call('ZREM', queue__children .. old[5], id)
    arg_rare().queue__shorten_family(ctx, old[5])
  end
  -- each once: plain items share a table
  if tier ~= 'internal' and not own.tier then own.tier, own[#own + 1], own[#own + 2] = tier, 'tier', tier end
  if source ~= '' and not own.source then own.source, own[#own + 1], own[#own + 2] = source, 'source', source end
  ctx.restricted = ctx.restricted or own.tier == 'restricted'
  if trace ~= '' and not own.trace then own.trace, own[#own + 1], own[#own + 2] = trace, 'trace', trace end
  if own.unique or own.scope or own.ordering_key or own.fallback_after_ms or own.expires_at_ms or own.timeout_ms or own.result_ms or own.reply
    or own.gathered then
    own[#own + 1] = 'ties'  -- one by one: in one statement Lua would fill from the right
    own[#own + 1] = '1'
  end
  -- at most 80: two for each pair of an item
  if size > 1024 then redis.call('HSET', key, 'rid', stamp, 'created_ms', ctx.now_text, 'size', size, unpack(own)) end
  if size <= 1024 then redis.call('HSET', key, 'rid', stamp, 'created_ms', ctx.now_text, unpack(own)) end
  if old and old[1] then
    local calls = string.match(old[2] .. ' ' .. (old[3] or ''), '^' .. string.rep('%S* ?', 8))
    redis.call('HSET', key, 'earlier', calls)
    redis.call('HDEL', key, 'gone', 'settled')
    if old[4] then redis.call('HSET', key, 'settled_earlier', old[4]) end
    redis.call('PERSIST', key)
  end
end

-- add_tasks(ctx, ids, data, envelopes, stamps): add the tasks that are new. envelopes: their pairs; stamps:
-- `<rid>/<index>`. Returns one answer for each task.
-- EARLY
local function queue__add_tasks(ctx, ids, data, envelopes, stamps) local queue__config, queue__payload, queue__ready, queue__shares = KEYS[20], KEYS[24], KEYS[26], KEYS[47]
  local last = redis.call('HINCRBY', queue__config, 'place', #ids)
  local place = last - #ids
  ctx.there, ctx.gathers, ctx.lined, ctx.aside, ctx.last_place = {}, {}, {}, {}, string.format('%.0f', last)
  local new, answers, created, seen, payloads, by_lane, by_index = { 'created' }, {}, {}, {}, {}, {}, {}
  for i, id in ipairs(ids) do
    local own, known, twin, by, later, later_twin = envelopes[i], nil, nil, nil, false, false
    local keyed = own.idempotency_key or own.unique or own.scope
    if ctx.some_known then known, later = arg_rare().queue__known_as(id, stamps[i]) end
    known = known or (seen[id] and 'exists')
    if keyed and known ~= 'created' then twin, by, later_twin = arg_rare().queue__find_duplicate(ctx, own, stamps[i]) end
    -- What a later item of this call made was not there when the call came before: then this one was refused, and is again.
    local may_be_refused = by ~= 'rid' and (not known or later) and (not twin or later_twin)
    local obstacle = may_be_refused and (own.after or own.needs_parent) and arg_rare().queue__find_obstacle(ctx, own, stamps[i])
    if may_be_refused and ctx.moved and not arg_rare().queue__is_here(own) then
      answers[i] = { 'moved' }
    elseif obstacle then
      answers[i] = { 'unknown', obstacle }
    elseif twin and (by == 'rid' or not known) then
      answers[i] = { 'deduplicated', twin }
      arg_rare().queue__merge_task(ctx, twin, later_twin and 'key' or by, stamps[i], own, data[i])  -- the payload of the later item is newer
    elseif known then
      answers[i], seen[id] = { known }, true
    else
      answers[i], seen[id], ctx.there[id], created[#created + 1] = new, true, 'new', id
      if own.scope then
        redis.call('SET', queue__payload .. id, data[i])  -- because a later item of the same scope may replace the payload
      else
        payloads[#payloads + 1] = queue__payload .. id
        payloads[#payloads + 1] = data[i]
      end
      if own.ordering_key then arg_rare().queue__join_order(id, own, place + i) end
      if own.parent and (ctx.settings_chains or ctx.has_chains) then arg_rare().queue__join_gathering(ctx, own, own.parent) end
      if own.after or own.gather or own.behind then arg_rare().queue__join_chains(ctx, id, own, place + i, by_index) end
      queue__write_record(id, stamps[i], ctx, own, #data[i])
      if keyed then arg_rare().queue__hold_keys(ctx, id, own, false) end
      queue__index_task(ctx, by_index, id, own)
      queue__place_task(ctx, id, own, place + i, by_lane)
    end
  end
  if ctx.held then arg_rare().queue__sweep_once(ctx, 10 + 2 * ctx.held) end
  if #created == 0 then return answers end
  -- at most 2,000: two for each item
  if #payloads > 0 then redis.call('MSET', unpack(payloads)) end
  for index, members in pairs(by_index) do redis.call('ZADD', index, unpack(members)) end
  queue__make_ready(ctx, by_lane)
  for lane in pairs(ctx.aside) do
    if redis.call('EXISTS', queue__ready .. lane) == 0 then redis.call('EXPIRE', queue__shares .. lane, 2592000) end
  end
  queue__emit(ctx, 'task.enqueued', table.concat(created, ' '), '')
  if #ctx.lined > 0 then arg_rare().queue__write_joins(ctx) end
  if #ctx.lined > 0 then queue__emit(ctx, 'task.limited', table.concat(ctx.lined, ' '), '') end
  ctx.counts.enqueued = #created
  return answers
end

-- answer_waiters(ctx, id, how, value): store how a task ended under `reply:<id>` for reply_ms, and publish it. The key
-- lives twice as long; after reply_ms it is ignored.
-- EARLY
local function queue__answer_waiters(ctx, id, how, value) local queue__config, queue__reply, queue__channel = KEYS[20], KEYS[25], KEYS[48]
  ctx.reply_ms = ctx.reply_ms or tonumber(redis.call('HGET', queue__config, 'reply_ms') or 3600000)
  redis.call('SET', queue__reply .. id, string.format('%.0f ', ctx.now + ctx.reply_ms) .. how .. '\n' .. value,
    'PX', string.format('%.0f', math.max(2 * ctx.reply_ms, 60000)))
  redis.pcall('SPUBLISH', queue__channel .. id, how)
end

-- cancel_task(ctx, id, tied, detail): end a task as cancelled; the caller has taken it out of the set it was in.
-- EARLY
local function queue__cancel_task(ctx, id, tied, detail) local queue__task, queue__finished = KEYS[23], KEYS[32]
  if tied then arg_rare().queue__on_end(ctx, id, 'cancelled', '') end
  redis.call('HSET', queue__task .. id, 'cancelled_ms', ctx.now_text)
  redis.call('ZADD', queue__finished, ctx.now, id)
  queue__emit(ctx, 'task.cancelled', id, detail or '')
  queue__add_count(ctx, 'cancelled', 1)
  ctx.ended = ctx.ended + 1
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

-- replayed_reply(ctx, verb): the answers that the same call got in the last minute, or nil.
-- EARLY
local function replayed_reply(ctx, verb)
  local word = done_before(ctx, verb)
  if not word then return nil end
  local answers = {}
  for item in string.gmatch(word, '[^,]+') do  -- at most 100: items
    local answer = {}
    for form, value in string.gmatch(item, '([ti])([^|]*)') do answer[#answer + 1] = form == 'i' and tonumber(value) or value end
    answers[#answers + 1] = answer
  end
  return answers
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

-- comment(ctx, own, reason): leave a comment in the log. The last hundred places there are for steps.
local function comment(ctx, own, reason) local logs = KEYS[4]
  if redis.call('XLEN', logs .. own.id) >= 900 then return { 'full' } end
  record_step(ctx, own, 'change.commented', actor, '', reason)
  return { 'commented' }
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

-- fits_delegation(ctx, own, person, one): whether this delegation of a person holds now, and for this change.
local function fits_delegation(ctx, own, person, one)
  return holds_now(ctx, own, one.fields) and matches(ctx, own, delegations_of(ctx, person))[one.at]
end

-- is_late(ctx, person): whether delegations of this person have begun, ended or changed since its requests were moved; or one of its requests
-- has opened.
local function is_late(ctx, person) local delegating = KEYS[13]
  if ctx.late[person] == nil then
    local since = redis.call('ZSCORE', delegating, person)
    ctx.late[person] = since and tonumber(since) <= ctx.now or false
  end
  return ctx.late[person]
end

-- cut_chain(ctx, own, one, all): give a request back to the first person in its chain whose delegation led it on and does not hold any more:
-- by its time, or because the change does not fit it. Without `all`, only persons are looked at whose delegations have begun, ended or
-- changed since. Returns whether it went back.
local function cut_chain(ctx, own, one, all)
  local left, left_via, rest = '', '', one.via
  for person, next_at in string.gmatch(one.chain, '>([^>]+)()') do  -- at most 4: delegation_depth
    local led, name = string.match(rest, '^>(([^>:]*)[^>]*)')
    local following = string.match(one.chain, '^>([^>]+)', next_at)
    if name ~= '' and (all or is_late(ctx, person)) then
      local found = delegation_named(ctx, person, name)
      local fields = found and found.fields
      local same = fields and fields.to == (following or string.sub(one.reviewer, 6)) and (fields.cascade == '1' or not following)
      if not same or via_of(name, fields) ~= led or not fits_delegation(ctx, own, person, found) then
        one.reviewer, one.chain, one.via = 'user:' .. person, left, left_via
        return true
      end
    end
    left, left_via, rest = left .. '>' .. person, left_via .. '>' .. led, string.sub(rest, #led + 2)
  end
  return false
end

-- domain_name(): the name of the domain, from its keys.
local function domain_name() local config = KEYS[16]
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

-- find_delegation(ctx, own, person): the first delegation of a person that holds now and fits a change, { name, fields, at }; or nil.
local function find_delegation(ctx, own, person)
  local list = delegations_of(ctx, person)
  local fitting = matches(ctx, own, list)
  for at, one in ipairs(list) do  -- at most 16: delegations of a person
    if fitting[at] and holds_now(ctx, own, one.fields) then return one end
  end
end

-- givers_of(own, one): who has delegated a request; of agents, also the persons who answer for them: `via` has those
-- of stored delegations, and the record those of delegations by hand.
local function givers_of(own, one) local requests = KEYS[3]
  local list = {}
  for person in string.gmatch(one.chain, '[^>]+') do list[#list + 1] = person end  -- at most 4: delegation_depth
  for person in string.gmatch(one.via, '>[^>:]*:([^>]+)') do list[#list + 1] = person end  -- at most 4: likewise
  if one.chain ~= '' and string.find(one.via .. '>', '>>', 1, true) then
    one.principals = one.principals or redis.call('HGET', requests .. own.id .. '/' .. one.slot, 'delegated_for') or ''
    for person in string.gmatch(one.principals, '[^,]+') do list[#list + 1] = person end  -- at most 4: likewise
  end
  return list
end

-- has_answered(own, person): whether this person, or an agent for it, has answered a request in this round; or it has for another.
local function has_answered(own, person)
  for _, one in ipairs(slots_of(own)) do  -- at most 32: slots
    if answered_by(one, person) then return true end
  end
  return false
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

-- is_behind_another(own, one, people): whether an answer of these persons to a request would be a second one of somebody in this round: one of
-- them has answered or delegated another request, also for somebody else, or one who has delegated this request is behind another answer.
local function is_behind_another(own, one, people)
  local these, all = {}, {}
  for _, person in ipairs(people) do these[person], all[person] = true, true end  -- at most 2: an actor and a principal
  for _, person in ipairs(givers_of(own, one)) do all[person] = true end  -- at most 8: delegation_depth, and principals
  for _, other in ipairs(slots_of(own)) do  -- at most 32: slots
    if other ~= one then
      local wanted = other.by ~= '' and all or these
      if wanted[other.by] or wanted[other.sender] then return true end
      for _, person in ipairs(givers_of(own, other)) do  -- at most 8: likewise
        if wanted[person] then return true end
      end
    end
  end
  return false
end

-- kept_principals(known, one, chain, via): for whom agents have delegated a request, of the steps of its chain that are in this one, too.
local function kept_principals(known, one, chain, via)
  local function parts(text) return words_of((string.gsub(text, '>', ','))) end  -- an empty one first
  local people, ways, new_people, new_ways = parts(one.chain), parts(one.via), parts(chain), parts(via)
  local kept, last = {}, 0
  for i, principal in ipairs(words_of(known)) do  -- at most 4: delegation_depth
    if not people[i + 1] or people[i + 1] ~= new_people[i + 1] or ways[i + 1] ~= new_ways[i + 1] then break end
    kept[i] = principal
    if principal ~= '' then last = i end
  end
  return table.concat(kept, ',', 1, last)
end

-- keep_principals(own, one, before, chain, via): a request gets this chain, by these delegations: its record keeps for whom agents have delegated
-- it only of the steps that it had before.
local function keep_principals(own, one, before, chain, via) local requests = KEYS[3]
  if not string.find(before.via .. '>', '>>', 1, true) then return end
  local key = requests .. own.id .. '/' .. one.slot
  local known = redis.call('HGET', key, 'delegated_for') or ''
  one.principals = kept_principals(known, before, chain, via)
  if one.principals ~= known then redis.call('HSET', key, 'delegated_for', one.principals) end
end

-- leads_on(own, person, fields): whether a delegation of this person may lead a request on: neither the person nor, if it is an agent, the
-- person behind it has answered another request, and the latter is no contributor.
local function leads_on(own, person, fields)
  local behind = fields['for']
  if has_answered(own, person) or behind and has_answered(own, behind) then return false end
  return not behind or text_of(own, 'p_contributors_may_vote') == '1' or not has_written(own.id, { behind })
end

-- leave_people(own, one): the opposite of join_people.
local function leave_people(own, one) local by_reviewer = KEYS[9]
  redis.call('ZREM', by_reviewer .. one.reviewer, own.id)
  for person in string.gmatch(one.chain, '[^>]+') do  -- at most 4: delegation_depth
    redis.call('ZREM', by_reviewer .. 'user:' .. person, own.id)
  end
  leave_away(own, one)
end

-- leave_place(own, one): take a pending request from those who have it or have delegated it.
local function leave_place(own, one) local inboxes = KEYS[5]
  if own.state == 'reviewing' then redis.call('ZREM', inboxes .. one.reviewer, own.id .. '/' .. one.slot) end
  leave_people(own, one)
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

-- needs_people(own): whether no policy may approve this change: it has, or has had since its submit, a tag that forbids it, or people have
-- rejected this content before.
local function needs_people(own)
  return text_of(own, 'denied') == '1' or has_denied_tag(own) or was_rejected(own)
end

-- reject(ctx, own, by, why): the change is rejected: by `rejections`, because the quorum is `unreachable`, or by `timeout`.
local function reject(ctx, own, by, why)
  if why ~= 'timeout' then note_rejection(own) end
  set_field(own, 'why', why)
  set_field(own, 'decided_by', by)
  move_to(ctx, own, 'rejected')
  record_step(ctx, own, 'change.rejected', by, 'why=' .. why, '')
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

-- load_change(ctx, id): a change as it is now: with all that is due for it, by now, done. nil if there is none.
local function load_change(ctx, id)
  local own = read_change(id)
  if own and own.due_ms <= ctx.now then take_due(ctx, own) end
  return own
end

-- note_task(id, place): a task that follows a step is in its queue, and has another id than `<domain>/<change>/<seq>`. place: how it ends,
-- `<seq>/<more>`. Of a change, the last 20 are known.
local function note_task(id, place) local change = KEYS[1]
  local known = redis.call('HGET', change .. id, 'follow_ids')
  local list = known and known .. ',' .. place or place
  local _, count = string.gsub(list, ',', '')
  if count == 20 then list = string.sub(list, string.find(list, ',', 1, true) + 1) end
  redis.call('HSET', change .. id, 'follow_ids', list)
end

-- put_out(ctx, follow): put a task into the outbox. The change is kept until it is delivered.
local function put_out(ctx, follow) local change, outbox, follows = KEYS[1], KEYS[10], KEYS[11]
  local name = follow.id .. ' ' .. follow.seq
  redis.call('ZADD', outbox, ctx.now_text, name)
  redis.call('HSET', follows, name, follow.text)
  redis.call('HINCRBY', change .. follow.id, 'undelivered', 1)
end

-- push_due(lane): push a wake-up token for a due time within the next 10 s (the longest block), because blocked workers
-- do not know this time. The worker that takes the token claims, sees next_ms, and blocks until then. Also pushed while
-- the queue is paused. It expires after 60 s, but a token for ready tasks does not.
local function queue__push_due(lane) local queue__wake = KEYS[28]
  if redis.call('EXISTS', queue__wake .. lane) == 0 then
    redis.call('LPUSH', queue__wake .. lane, '1')
    redis.call('PEXPIRE', queue__wake .. lane, 60000)
  else
    redis.call('PEXPIRE', queue__wake .. lane, 60000, 'XX')
  end
end

-- await_deadline(ctx, id, since_ms, due): store the next deadline of a waiting task: its move to the next lane (or
-- its failure in the last lane), counted from since_ms, or its expiry if it was never leased; the earlier one. due: a
-- list for the ZADD of the caller.
local function queue__await_deadline(ctx, id, since_ms, due) local queue__task, queue__deadlines = KEYS[23], KEYS[31]
  local own = redis.call('HMGET', queue__task .. id, 'fallback_after_ms', 'fallback', 'expires_at_ms', 'deliveries')
  local at_ms = MAX_SAFE
  if own[1] then
    at_ms = since_ms + own[1]
    if at_ms - ctx.now < 10000 then
      for lane in string.gmatch(own[2] or '', '[^,]+') do queue__push_due(lane) end  -- nobody may serve the first
    end
  end
  if own[3] and not own[4] then at_ms = math.min(at_ms, tonumber(own[3])) end
  if at_ms == MAX_SAFE then return end
  if due then
    due[#due + 1] = string.format('%.0f', at_ms)
    due[#due + 1] = id
  else
    redis.call('ZADD', queue__deadlines, string.format('%.0f', at_ms), id)
  end
end

-- begin_chains(ctx): note that the queue has chains. Until then, no call looks for tasks that wait for others.
local function queue__begin_chains(ctx) local queue__config = KEYS[20]
  if not (ctx.settings_chains or ctx.has_chains) then redis.call('HSET', queue__config, 'chains', '1') end
  ctx.has_chains = true
end

-- keep_note(ctx, note, parent_only): keep a note for the end of this call. parent_only: no task waits for its task but
-- the parent.
local function queue__keep_note(ctx, note, parent_only)
  ctx.notes = ctx.notes or {}
  if ctx.notes[note] == nil then ctx.notes[#ctx.notes + 1], ctx.notes[note] = note, parent_only or false end
end

-- note_end(ctx, how, id, parent, stamp, parent_only): note what propagate_ends has to do for a task. `c`, `f`: report
-- that it completed or failed to its gathering parent, '<id> <its place>', and to the tasks that wait for it by now.
-- Later tasks wait for another task with that id. `o`: report it to the next task of its ordering key, in place of a
-- parent. `t`: cancel its children, under a stamp. The caller ends with on_close or store_notes.
local function queue__note_end(ctx, how, id, parent, stamp, parent_only) local queue__config = KEYS[20]
  ctx.last_place = ctx.last_place or redis.call('HGET', queue__config, 'place') or 0
  queue__keep_note(ctx, how .. ' ' .. id .. ' ' .. (parent or '- 0') .. ' ' .. (stamp or ctx.last_place), parent_only)
end

-- make_awaited(ctx, id): mark a task that other tasks wait for: from now on it has ties. If it has ended already, note
-- its end for all waiting tasks that this call adds. One that this call has made waits itself.
local function queue__make_awaited(ctx, id) local queue__running, queue__task, queue__finished, queue__dead = KEYS[21], KEYS[23], KEYS[32], KEYS[33]
  local there = ctx.there[id]
  if there == 'awaited' then return end
  ctx.there[id] = 'awaited'
  if there ~= 'new' then
    local failed = redis.call('ZSCORE', queue__dead, id) or redis.call('HEXISTS', queue__task .. id, 'cancelled_ms') == 1
    if failed or redis.call('ZSCORE', queue__finished, id) then
      return queue__note_end(ctx, failed and 'f' or 'c', id)
    end
  end
  redis.call('HSET', queue__task .. id, 'awaited', '1', 'ties', '1')
  local held = there ~= 'new' and redis.call('HGET', queue__running, id)
  if held and not string.find(held, ' ties[^|]*|') then
    redis.call('HSET', queue__running, id, (string.gsub(held, '^(%S+ %d+ [^ |]+)', '%1 ties')))
  end
end

-- await_others(ctx, id, own, place, by_index): let a new task wait until others have ended: the tasks of `after`, which
-- exist; `gather` children, which may come later; or the earlier tasks of its ordering key. An end from before is noted
-- as if it happened now. Notes its place in `blocked` for the caller's ZADD. Returns for how many ends it waits.
local function queue__await_others(ctx, id, own, place, by_index) local queue__blocked, queue__deadlines, queue__dependents = KEYS[30], KEYS[31], KEYS[40]
  local seen, awaits = {}, own.gather or (own.behind and 1 or 0)
  for _, other in ipairs(own.after or {}) do
    if not seen[other] then
      seen[other], awaits = true, awaits + 1
      redis.call('ZADD', queue__dependents .. other, place, id)
      queue__make_awaited(ctx, other)
    end
  end
  queue__line_up(by_index, queue__blocked, (own.priority or 5) * BAND + place, id)
  if own.expires_at_ms then redis.call('ZADD', queue__deadlines, own.expires_at_ms, id) end
  queue__begin_chains(ctx)
  return awaits
end

-- find_set(id, record): the set that a task is in, and its score there; nil if it is in none or has no record.
local function queue__find_set(id, record) local queue__leases, queue__ready, queue__delayed, queue__blocked, queue__finished, queue__dead = KEYS[22], KEYS[26], KEYS[29], KEYS[30], KEYS[32], KEYS[33]
  if not record then return nil end
  for _, set in ipairs({ queue__ready .. (record.lane or 'any'), queue__leases, queue__finished, queue__delayed, queue__dead, queue__blocked }) do
    local score = redis.call('ZSCORE', set, id)
    if score then return set, score end
  end
end

-- lane_emptied(ctx, lane): note that no task waits in this lane any more. Its wake token is deleted, but a token for a
-- due time expires by itself.
local function queue__lane_emptied(ctx, lane) local queue__lanes, queue__wake, queue__delayed, queue__deadlines, queue__shares = KEYS[27], KEYS[28], KEYS[29], KEYS[31], KEYS[47]
  redis.call('SREM', queue__lanes, lane)
  if ctx.settings_fair > 0 or ctx.settings_fair_top > 0 then redis.call('EXPIRE', queue__shares .. lane, ctx.settings_limits > 0 and 2592000 or 86400) end
  if redis.call('EXISTS', queue__delayed, queue__deadlines) == 0 then
    redis.call('DEL', queue__wake .. lane)
  else
    redis.call('PEXPIRE', queue__wake .. lane, 60000)
  end
end

-- leave_line(id, key): remove a task from a limit queue. If the queue is then empty, remove it from limit_lines.
local function queue__leave_line(id, key) local queue__task, queue__waiting, queue__limit_lines = KEYS[23], KEYS[44], KEYS[45]
  redis.call('HDEL', queue__task .. id, 'limited_by')
  redis.call('ZREM', queue__waiting .. key, id)
  if redis.call('EXISTS', queue__waiting .. key) == 0 then redis.call('ZREM', queue__limit_lines, key) end
end

-- push_control(ctx, name): leave a wake-up for a worker. It expires if no worker waits for it.
local function queue__push_control(ctx, name) local queue__control = KEYS[34]
  ctx.called = ctx.called or {}
  if ctx.called[name] then return end
  ctx.called[name] = true
  if redis.call('EXISTS', queue__control .. name) == 0 then redis.call('LPUSH', queue__control .. name, '1') end
  redis.call('PEXPIRE', queue__control .. name, 60000)
end

-- read_record(id): the record of a task as a table by name, and how many bytes its values have; nil if there is none.
local function queue__read_record(id) local queue__task = KEYS[23]
  local flat, record, bytes = redis.call('HGETALL', queue__task .. id), {}, 0  -- at most 70: fields of a record
  if #flat == 0 then return nil, 0 end
  for f = 1, #flat, 2 do
    record[flat[f]] = flat[f + 1]
    bytes = bytes + #flat[f + 1]
  end
  return record, bytes
end

-- state_of(ctx, set, score, record): the state of a task by the set it is in; nil if it is in none.
local function queue__state_of(ctx, set, score, record) local queue__leases, queue__delayed, queue__blocked, queue__finished, queue__dead = KEYS[22], KEYS[29], KEYS[30], KEYS[32], KEYS[33]
  if not set then return nil end
  if set == queue__leases then return tonumber(score) > ctx.now and 'running' or 'stalled' end
  if set == queue__finished then return record.cancelled_ms and 'cancelled' or 'completed' end
  return set == queue__delayed and 'delayed' or set == queue__blocked and 'blocked' or set == queue__dead and 'dead' or 'ready'
end

-- cancel_one(ctx, id, dead_too): cancel a task: at once if it waits, by its worker if it runs. With dead_too, a dead
-- task leaves the dead set. Returns the answer.
-- LATE
local function queue__cancel_one(ctx, id, dead_too) local queue__running, queue__leases = KEYS[21], KEYS[22]
  local record = queue__read_record(id)
  local set, score = queue__find_set(id, record)
  local state = queue__state_of(ctx, set, score, record)
  if not state then return 'not_found' end
  if state == 'cancelled' then return 'cancelled' end
  local dead_before = state == 'dead'
  if state == 'completed' or (dead_before and not dead_too) then return 'finished' end
  if set == queue__leases then
    local held = redis.call('HGET', queue__running, id)
    if held and not string.find(held, ' cancel|', 1, true) then
      redis.call('HSET', queue__running, id, (string.gsub(held, '|', ' cancel|', 1)))
      queue__push_control(ctx, string.match(held, '^.* (%S+)$'))
    end
    return 'cancelling'
  end
  redis.call('ZREM', set, id)
  if record.limited_by then queue__leave_line(id, record.limited_by) end
  if state == 'ready' and redis.call('EXISTS', set) == 0 then queue__lane_emptied(ctx, record.lane or 'any') end
  if dead_before and record.reply then queue__answer_waiters(ctx, id, 'cancelled', '') end
  queue__cancel_task(ctx, id, not dead_before and record.ties, dead_before and 'from=dead')
  return 'cancelled'
end

-- rank_after(set, score, id): the number of members up to (score, id), even if this member was removed. Members with
-- equal scores are sorted by their bytes.
local function queue__rank_after(set, score, id)
  if redis.call('ZSCORE', set, id) == score then return redis.call('ZRANK', set, id) + 1 end
  local low, high = redis.call('ZCOUNT', set, '-inf', '(' .. score), redis.call('ZCOUNT', set, '-inf', score)
  while low < high do  -- at most 53: halvings
    local middle = math.floor((low + high) / 2)
    local member, at = redis.call('ZRANGE', set, middle, middle)[1], 1
    -- at most 200: bytes of an id
    while string.byte(member, at) and string.byte(member, at) == string.byte(id, at) do at = at + 1 end
    if (string.byte(member, at) or 0) < (string.byte(id, at) or 0) then low = middle + 1 else high = middle end
  end
  return low
end

-- cancel_children(ctx, id, last_id, last_score, stamp, limit): cancel the children of a task behind the last one, at
-- most limit, and note that their own children follow. The stamp ends cycles of parents: each task is cancelled once
-- for a stamp. A later cancel has a higher stamp and does the work of earlier ones. A link (shorten_family) of a
-- removed child counts as a child. Returns how many, and the last of them with its score.
local function queue__cancel_children(ctx, id, last_id, last_score, stamp, limit) local queue__task, queue__children = KEYS[23], KEYS[39]
  local start = last_score == '0' and 0 or queue__rank_after(queue__children .. id, last_score, last_id)
  local page = redis.call('ZRANGE', queue__children .. id, start, start + limit - 1, 'WITHSCORES')
  for i = 1, #page, 2 do
    local child = page[i]
    local row = redis.call('HMGET', queue__task .. child, 'created_ms', 'parent', 'link', 'pruned')
    local parent = row[3]
    if row[1] then parent = row[2] end
    if parent ~= id then
      redis.call('ZREM', queue__children .. id, child)  -- an older version enqueued a new task with the id of a link
    else
      if row[1] then queue__cancel_one(ctx, child) end
      local has_own = redis.call('EXISTS', queue__children .. child) == 1
      if has_own and tonumber(row[4] or 0) < tonumber(stamp) then
        redis.call('HSET', queue__task .. child, 'pruned', stamp)
        queue__note_end(ctx, 't', child, nil, stamp)
      elseif not has_own and not row[1] then  -- an older build removed the last child of a link
        redis.call('ZREM', queue__children .. id, child)
        redis.call('PEXPIRE', queue__task .. child, 60000)
      end
    end
  end
  return #page / 2, #page > 0 and page[#page - 1] .. ' ' .. page[#page]
end

-- line_up_freed(ctx, batch): put the tasks that no longer wait for others into their lanes.
local function queue__line_up_freed(ctx, batch)
  if not batch.freed[1] then return end
  queue__make_ready(ctx, batch.by_lane)
  for first = 1, #batch.freed, 1000 do
    queue__emit(ctx, 'task.unblocked', table.concat(batch.freed, ' ', first, math.min(first + 999, #batch.freed)), '')
  end
  batch.by_lane, batch.freed = {}, {}
end

-- store_notes(ctx): store the notes of this call that were not carried out. A later call goes on.
local function queue__store_notes(ctx) local queue__ends = KEYS[42]
  local rows = {}
  for i, note in ipairs(ctx.notes or {}) do rows[2 * i - 1], rows[2 * i] = ctx.now_text, note end
  for first = 1, #rows, 7000 do redis.call('ZADD', queue__ends, unpack(rows, first, math.min(first + 6999, #rows))) end
  ctx.notes = nil
end

-- read_notes(ctx, limit): the oldest notes that are stored, with their times, at most limit, and whether there are any. If
-- so, those of this call are stored, too, to get their turn. As a rule there are none: the notes of a call are carried
-- out without being stored.
local function queue__read_notes(ctx, limit) local queue__ends = KEYS[42]
  local stored = redis.call('ZRANGE', queue__ends, 0, limit - 1, 'WITHSCORES')
  if stored[1] and ctx.notes then
    queue__store_notes(ctx)
    stored = redis.call('ZRANGE', queue__ends, 0, limit - 1, 'WITHSCORES')
  end
  return stored, stored[1] ~= nil
end

-- delay_until(ctx, due_ms, id, lane): make a task delayed until due_ms. If that is within 10 s, wake a worker of the
-- lane.
local function queue__delay_until(ctx, due_ms, id, lane) local queue__delayed = KEYS[29]
  redis.call('ZADD', queue__delayed, due_ms, id)
  if due_ms - ctx.now < 10000 then queue__push_due(lane) end
end

-- chains_on_end(ctx, id, own, how): note the end for the parent that gathers the task, and for the tasks that wait for it.
-- READS awaited gathered parent
-- WHEN own.awaited or own.gathered
local function queue__chains_on_end(ctx, id, own, how) local queue__task = KEYS[23]
  redis.call('HDEL', queue__task .. id, 'awaited', 'gathered')
  local well = how == 'completed' or how == 'result_dropped'
  queue__note_end(ctx, well and 'c' or 'f', id, own.gathered and own.parent .. ' ' .. own.gathered, nil, not own.awaited)
end

-- holds_on_end(ctx, id, own): end what a task holds while it waits or runs: its deadline, its unique key and its scope.
-- READS unique scope expires_at_ms fallback_after_ms
-- WHEN own.unique or own.scope or own.expires_at_ms or own.fallback_after_ms
local function queue__holds_on_end(ctx, id, own) local queue__deadlines, queue__once = KEYS[31], KEYS[35]
  if own.expires_at_ms or own.fallback_after_ms then redis.call('ZREM', queue__deadlines, id) end
  if not (own.unique or own.scope) then return end
  local unique, scope = 'unique:' .. (own.unique or ''), 'scope:' .. (own.scope or '')
  local held = redis.call('HMGET', queue__once, unique, scope)
  if held[1] == id then redis.call('HDEL', queue__once, unique, held[2] == id and scope or unique) return end
  if held[2] == id then redis.call('HDEL', queue__once, scope) end
end

-- order_on_end(ctx, id, own): remove the task from the queue of its ordering key. If it was the first, write a note,
-- and propagate_ends unblocks the next task.
-- READS ordering_key
-- WHEN own.ordering_key
local function queue__order_on_end(ctx, id, own) local queue__order = KEYS[41]
  local line = queue__order .. own.ordering_key
  local first = redis.call('ZRANGE', line, 0, 1, 'WITHSCORES')
  redis.call('ZREM', line, id)
  if first[1] == id and first[3] then queue__note_end(ctx, 'o', id, first[3] .. ' ' .. first[4]) end
end

-- replies_on_end(ctx, id, how, value): answer the clients that wait for the task's reply.
-- READS reply
-- WHEN own.reply and value
local function queue__replies_on_end(ctx, id, how, value)
  queue__answer_waiters(ctx, id, how, value)
end

-- on_end(ctx, id, how, value): generated from lua/queue/noun.toml: calls the hooks of holds, chains, order, replies.
local function queue__on_end(ctx, id, how, value) local queue__task = KEYS[23]
  local row = redis.call('HMGET', queue__task .. id, 'unique', 'scope', 'expires_at_ms', 'fallback_after_ms', 'awaited', 'gathered', 'parent', 'ordering_key', 'reply', 'result_ms')
  local own = { unique = row[1], scope = row[2], expires_at_ms = row[3], fallback_after_ms = row[4], awaited = row[5], gathered = row[6], parent = row[7], ordering_key = row[8], reply = row[9], result_ms = row[10] }
  if own.unique or own.scope or own.expires_at_ms or own.fallback_after_ms then queue__holds_on_end(ctx, id, own) end
  if own.awaited or own.gathered then queue__chains_on_end(ctx, id, own, how) end
  if own.ordering_key then queue__order_on_end(ctx, id, own) end
  if own.reply and value then queue__replies_on_end(ctx, id, how, value) end
  return own
end

-- move_to_dead(ctx, event, id, reason, tied, error, shown): move a task to the dead set. The caller has removed it from
-- its set, and writes the reason and the error into the record. shown: further words of the event, or nil.
local function queue__move_to_dead(ctx, event, id, reason, tied, error, shown) local queue__dead = KEYS[33]
  if tied then queue__on_end(ctx, id, 'dead ' .. reason, error or '') end
  redis.call('ZADD', queue__dead, ctx.now, id)
  queue__emit(ctx, event, id, 'reason=' .. reason .. (shown or ''))
  queue__add_count(ctx, 'dead', 1)
end

-- share_place(ctx, lane, user, band): the place of a user's next task with fair shares: the place claimed last in this
-- lane and band, or the end of the user's previous task if that is later. A task of a user with weight 100 % lasts
-- 1,000. config.fair_top is kept above all places, for the case that fair shares are switched off.
local function queue__share_place(ctx, lane, user, band) local queue__config, queue__weights, queue__shares = KEYS[20], KEYS[46], KEYS[47]
  local name = lane .. ' ' .. band .. user
  ctx.shares = ctx.shares or {}
  local own = ctx.shares[name]
  if not own then
    local row = redis.call('ZMSCORE', queue__shares .. lane, band .. ' claimed', band .. user)
    local weight_pct = user ~= '' and redis.call('HGET', queue__weights, user) or 100
    local from = math.max(ctx.settings_fair, row[1] and row[1] % BAND or 0)
    own = { place = math.max(from, row[2] and row[2] % BAND or 0), lasts = math.ceil(100000 / weight_pct) }
    ctx.shares[name] = own
  end
  local place = own.place
  own.place = place + own.lasts
  redis.call('ZADD', queue__shares .. lane, string.format('%.0f', band * BAND + own.place), band .. user)
  if own.place > (ctx.fair_top or ctx.settings_fair_top) then
    ctx.fair_top = own.place + 1000000
    redis.call('HSET', queue__config, 'fair_top', string.format('%.0f', ctx.fair_top))
  end
  return place
end

-- end_wait(ctx, id, good, one, batch): let a task that waited for others continue (good), or end it. one: its
-- score, the fields that tell_waiting has read (own) and for how many it still waits, if that has changed (awaits). What
-- becomes ready goes into the batch. The caller takes it out of `blocked`.
local function queue__end_wait(ctx, id, good, one, batch) local queue__task = KEYS[23]
  local own, score, awaits = one.own, one.score, one.awaits and 'awaits'
  if good then
    local due_ms = math.max(ctx.now + (own[4] or 0), tonumber(own[5] or 0))
    redis.call('HSET', queue__task .. id, 'ready_ms', ctx.now_text, awaits or 'ready_ms', one.awaits or ctx.now_text)
    if due_ms > ctx.now then
      queue__delay_until(ctx, due_ms, id, own[3] or 'any')
    else
      local band = math.floor(score / BAND)
      if ctx.settings_fair > 0 then score = band * BAND + queue__share_place(ctx, own[3] or 'any', own[7] or '', band) end
      queue__line_up(batch.by_lane, own[3] or 'any', score, id)
    end
    if own[6] then queue__await_deadline(ctx, id, due_ms) end
    batch.freed[#batch.freed + 1] = id
  elseif own[1] == 'failed' then
    if awaits then redis.call('HSET', queue__task .. id, awaits, one.awaits) end
    queue__cancel_task(ctx, id, own[6])
  else
    redis.call('HSET', queue__task .. id, 'reason', 'after_failed', awaits or 'reason', one.awaits or 'after_failed')
    queue__move_to_dead(ctx, 'task.dead', id, 'after_failed', own[6])
  end
end

-- tell_waiting(ctx, batch): report to waiting tasks that tasks they wait for have ended: batch.tells, { id, place, how }
-- each. A waiting task continues or ends at once if an end decides, and otherwise when the last one has ended (it may wait for
-- all of them, or for any). A task that is not blocked at this place no longer waits, or is another task with that id.
-- What each of them needs is read and written once. What becomes ready goes into the batch.
local function queue__tell_waiting(ctx, batch) local queue__task, queue__blocked = KEYS[23], KEYS[30]
  local tells = batch.tells
  if not tells[1] then return end
  batch.tells = {}
  local waits, ids, over = {}, {}, {}
  for _, tell in ipairs(tells) do
    if not waits[tell[1]] then ids[#ids + 1], waits[tell[1]] = tell[1], {} end
  end
  for i, score in ipairs(redis.call('ZMSCORE', queue__blocked, unpack(ids))) do waits[ids[i]].score = score end  -- at most 2,000: two for each of the limit of propagate_ends
  for _, tell in ipairs(tells) do
    local id, how = tell[1], tell[3]
    local one = waits[id]
    if one.score and one.score % BAND == tonumber(tell[2]) then
      one.own = one.own or redis.call('HMGET', queue__task .. id, 'after_when', 'after_any', 'lane', 'delay_ms', 'run_after_ms', 'ties',
        'user', 'limited_by', 'awaits')
      local own = one.own
      if not own[8] then  -- else it waits only for a limit
        local good = own[1] == 'ended' or (how == 'c') == (own[1] ~= 'failed')
        local decisive = good == (own[2] == '1')
        if not decisive then one.awaits = (one.awaits or tonumber(own[9]) or 0) - 1 end
        if decisive or one.awaits <= 0 then
          queue__end_wait(ctx, id, good, one, batch)
          over[#over + 1], one.score = id, nil
        end
      end
    end
  end
  for _, id in ipairs(ids) do
    local one = waits[id]
    if one.score and one.awaits then redis.call('HSET', queue__task .. id, 'awaits', one.awaits) end
  end
  if over[1] then redis.call('ZREM', queue__blocked, unpack(over)) end  -- at most 2,000: as above
end

-- propagate_ends(ctx, limit): carry out what ended tasks mean for others, oldest first, for at most limit of them. `c`,
-- `f`: report to the waiting tasks and to the gathering parent. `o`: report to the next task of the ordering key. `t`:
-- cancel the children. The rest stays noted. Returns how many were reported.
local function queue__propagate_ends(ctx, limit) local queue__dependents, queue__ends = KEYS[40], KEYS[42]
  local batch, told, may_be_stored = { by_lane = {}, freed = {}, tells = {} }, 0, true
  local function follow(note, parent_only)
    local how, id, other, at, upto = string.match(note, '^(%l) (%S+) (%S+) (%d+) (%d+)$')
    local count, rest, tells = 0, '- 0', batch.tells
    if how == 't' then
      queue__tell_waiting(ctx, batch)
      queue__line_up_freed(ctx, batch)  -- cancel_children must see the tasks that became ready
      count, rest = queue__cancel_children(ctx, id, other, at, upto, limit - told)
    elseif how then  -- else the note is damaged
      if at ~= '0' then tells[#tells + 1] = { other, at, how } end
      local waiting = (how == 'o' or parent_only) and {}
        or redis.call('ZRANGE', queue__dependents .. id, '-inf', upto, 'BYSCORE', 'LIMIT', 0, limit - told, 'WITHSCORES')
      count = #waiting / 2
      if count > 0 then redis.call('ZREMRANGEBYRANK', queue__dependents .. id, 0, count - 1) end
      for i = 1, #waiting, 2 do tells[#tells + 1] = { waiting[i], waiting[i + 1], how } end
    end
    local left = count == limit - told and how .. ' ' .. id .. ' ' .. rest .. ' ' .. upto or nil
    told = told + math.max(count, 1)
    return left
  end
  while told < limit do  -- at most 1,000: limit
    local stored, notes, parent_only, left = {}, {}, {}, nil
    if may_be_stored then stored, may_be_stored = queue__read_notes(ctx, limit - told) end
    for i = 1, #stored, 2 do notes[#notes + 1] = stored[i] end
    if not stored[1] and ctx.notes then
      notes, parent_only, ctx.notes = ctx.notes, ctx.notes, nil
      table.sort(notes)
    end
    local last = 0
    while notes[last + 1] and told < limit do  -- at most 1,000: limit
      last = last + 1
      left = follow(notes[last], parent_only[notes[last]])
    end
    if last == 0 then break end
    if stored[1] then
      redis.call('ZREM', queue__ends, unpack(notes, 1, last))  -- at most 1,000: limit
      if left then redis.call('ZADD', queue__ends, stored[2 * last], left) end
    else
      for i = last + 1, #notes do queue__keep_note(ctx, notes[i], parent_only[notes[i]]) end
      if left then queue__keep_note(ctx, left) end
    end
    queue__tell_waiting(ctx, batch)
  end
  queue__line_up_freed(ctx, batch)
  return told
end

-- chains_on_close(ctx): report the ends of this call to the tasks that wait for them: at most 100, less those that its
-- sweep has reported. If more are left, the time of the next claim is now.
-- WHEN ctx.notes
local function queue__chains_on_close(ctx) local queue__ends = KEYS[42]
  local left = 100 - ctx.told
  local all = left > 0 and queue__propagate_ends(ctx, left) < left
  queue__store_notes(ctx)
  if ctx.next_ms and not all and redis.call('EXISTS', queue__ends) == 1 then ctx.next_ms = ctx.now end
end

-- create_base(clock): store the layout and the clock of a new base. The clock is `test` or `server` (the default).
local function queue__create_base(clock) local queue__config = KEYS[20]
  redis.call('HSET', queue__config, 'layout', 2, 'layout_min', 2, 'clock', clock == 'test' and 'test' or 'server')
end

-- is_later(made_by, stamp): whether a later item of the same call made the task with the stamp made_by.
local function queue__is_later(made_by, stamp)
  local call, index = string.match(stamp, '^(.*)/(%d+)$')
  local other_call, other_index = string.match(made_by or '', '^(.*)/(%d+)$')
  return other_call == call and tonumber(other_index) > tonumber(index)
end

-- find_duplicate(ctx, own, stamp): find the task that a new one duplicates, and by what: an earlier answer of this call
-- (rid), its idempotency key (key), its scope, or its unique key. The third value: a later item of this call made that
-- task. nil if it is no duplicate.
local function queue__find_duplicate(ctx, own, stamp) local queue__task, queue__once = KEYS[23], KEYS[35]
  local names = { 'rid', 'key', 'scope', 'unique' }
  local found = redis.call('HMGET', queue__once, 'rid:' .. stamp, 'key:' .. (own.idempotency_key or ''),
    'scope:' .. (own.scope or ''), 'unique:' .. (own.unique or ''))
  for i, name in ipairs(names) do
    local id, until_ms, made_by = string.match(found[i] or '', '^(%S+) ?(%d*) ?(%S*)$')
    if made_by and made_by ~= '' and redis.call('HEXISTS', queue__once, 'purged:' .. made_by) == 1 then id = nil end
    local asked = id and i > 1 and (until_ms == '' or own.after or own.needs_parent or ctx.moved)
    local row = asked and redis.call('HMGET', queue__task .. id, 'created_ms', 'rid') or {}
    -- The key of an evicted task may still be stored.
    local stands = id and (until_ms ~= '' and tonumber(until_ms) > ctx.now or until_ms == '' and row[1])
    if stands then return id, name, queue__is_later(row[2], stamp) end
  end
end

-- read_limits(ctx, keys): the limits for these keys: each has its own, or that of its kind (`user:*`). A rule is stored
-- as '<concurrency> <policy> <interval_ms> <burst>', with 0 for not limited. Each limit is one table per call (cached
-- in ctx.limit). room_left adds `held` and `next_ms` to it.
local function queue__read_limits(ctx, keys) local queue__limits = KEYS[43]
  local names, found = {}, {}
  for i, key in ipairs(keys) do names[2 * i - 1], names[2 * i] = key, string.sub(key, 1, string.find(key, ':', 1, true) or -1) .. '*' end
  local rules = redis.call('HMGET', queue__limits, unpack(names))  -- at most 2,000: two for each key of a task, or of a page of lines
  for i, key in ipairs(keys) do
    local rule, limit = rules[2 * i - 1] or rules[2 * i], ctx.limit[key]
    if rule and not limit then
      local most, policy, interval_ms, burst = string.match(rule, '^(%d+) (%S+) (%S+) (%d+)$')
      limit = {
        key = key, policy = policy, most = most ~= '0' and tonumber(most),
        interval_ms = interval_ms ~= '0' and tonumber(interval_ms), slack_ms = (burst - 1) * interval_ms,
      }
      ctx.limit[key] = limit
    end
    found[#found + 1] = limit
  end
  return found
end

-- limits_of(ctx, user, tags, words): the limits that apply to a task: `all`, its user, its tags, its limit keys. tags,
-- words: separated by commas, or ''. held_as: the keys that a lease holds. rated: some limits have rates.
local function queue__limits_of(ctx, user, tags, words)
  local known = user .. ' ' .. tags .. ' ' .. words
  if not ctx.limited[known] then
    local keys, seen = { 'all' }, {}
    for i, list in ipairs({ user, tags, words }) do
      for word in string.gmatch(list, '[^,]+') do
        local key = ({ 'user:', 'tag:', 'key:' })[i] .. word
        if not seen[key] then keys[#keys + 1], seen[key] = key, true end
      end
    end
    local limited, held = queue__read_limits(ctx, keys), {}
    for _, limit in ipairs(limited) do
      if limit.most then held[#held + 1] = limit.key end
      limited.rated = limited.rated or limit.interval_ms
    end
    ctx.limited[known], limited.held_as = limited, table.concat(held, ',')
  end
  return ctx.limited[known]
end

-- find_line(ctx, own): for a new task: the first of its limits whose queue is not empty. The task joins this queue at
-- once.
local function queue__find_line(ctx, own) local queue__waiting = KEYS[44]
  local limited = queue__limits_of(ctx, own.user or '', own.tags and table.concat(own.tags, ',') or '', own.limits and table.concat(own.limits, ',') or '')
  for _, limit in ipairs(limited) do
    if ctx.in_line[limit.key] == nil then ctx.in_line[limit.key] = redis.call('EXISTS', queue__waiting .. limit.key) == 1 end
    if ctx.in_line[limit.key] and limit.policy == 'queue' then return limit end
  end
end

-- find_missing(ctx, ids, stamp): the first of these ids whose task does not exist, or is created by a later item of
-- this call; nil if all exist. Ids that were found are not looked up again in this call.
local function queue__find_missing(ctx, ids, stamp) local queue__task = KEYS[23]
  for _, id in ipairs(ids) do
    if not ctx.there[id] then
      local row = redis.call('HMGET', queue__task .. id, 'created_ms', 'rid')
      if not row[1] or queue__is_later(row[2], stamp) then return id end
      ctx.there[id] = true
    end
  end
end

-- gathers(ctx, id): the place of a task, as text, if it waits for its children, and so gathers those that come now; otherwise
-- false. A call looks at each task once.
local function queue__gathers(ctx, id) local queue__task, queue__blocked = KEYS[23], KEYS[30]
  if ctx.gathers[id] == nil then
    local score = redis.call('ZSCORE', queue__blocked, id)
    local row = score and redis.call('HMGET', queue__task .. id, 'gather', 'limited_by') or {}
    ctx.gathers[id] = row[1] and not row[2] and string.format('%.0f', score % BAND) or false
  end
  return ctx.gathers[id]
end

-- find_obstacle(ctx, own, stamp): the first task because of which a new one is not created: a task of `after`, or a parent that it
-- needs, that does not exist; or the parent that it is to come after, while that waits for its children: each would wait for
-- the other. nil if there is none. How many other children there are does not matter: the same call, sent again, must get the same
-- answer.
local function queue__find_obstacle(ctx, own, stamp)
  local parent, comes_after, others = own.parent, false, false
  local missing = own.after and queue__find_missing(ctx, own.after, stamp) or own.needs_parent and queue__find_missing(ctx, { parent }, stamp)
  if missing or not (parent and own.after) then return missing or nil end
  for _, id in ipairs(own.after) do
    comes_after, others = comes_after or id == parent, others or id ~= parent
  end
  if comes_after and not (own.after_any and others) and queue__gathers(ctx, parent) then return parent end
end

-- full_score(ctx): the score in limit_lines of a queue whose limit is full now: it is looked at when a lease ends, or
-- after a change of `user:*`, `tag:*` or `key:*`.
local function queue__full_score(ctx)
  return BAND + math.max(ctx.now, ctx.settings_limits + 1)
end

-- hold_once(ctx, field, id, keep_ms, stamp): make a key of `once` refer to a task, for keep_ms or, without keep_ms,
-- until it is released. stamp: that of the enqueue that made the task, if its record does not know the key; the key no
-- longer counts once that was purged.
local function queue__hold_once(ctx, field, id, keep_ms, stamp) local queue__once, queue__once_due = KEYS[35], KEYS[36]
  if not keep_ms then
    redis.call('HSET', queue__once, field, id)
    return
  end
  local until_text = string.format('%.0f', ctx.now + keep_ms)
  redis.call('HSET', queue__once, field, id .. ' ' .. until_text .. (stamp and ' ' .. stamp or ''))
  redis.call('ZADD', queue__once_due, until_text, field)
  ctx.held = (ctx.held or 0) + 1
end

-- hold_keys(ctx, id, own, is_twin): store the keys of a task in `once`: the idempotency key for idempotency_ms, the
-- unique key and the scope until the task ends. is_twin: the task already existed; only the idempotency key is added.
local function queue__hold_keys(ctx, id, own, is_twin) local queue__config, queue__task = KEYS[20], KEYS[23]
  if own.idempotency_key then
    ctx.keep_ms = ctx.keep_ms or redis.call('HGET', queue__config, 'idempotency_ms') or 86400000
    local row = is_twin and redis.call('HMGET', queue__task .. id, 'idempotency_key', 'rid', 'keys') or {}
    local second = row[1] and row[1] ~= own.idempotency_key
    queue__hold_once(ctx, 'key:' .. own.idempotency_key, id, ctx.keep_ms, second and row[2] or nil)
    if second then
      redis.call('HSET', queue__task .. id, 'keys', string.format('%.0f', math.max(row[3] or 0, ctx.now + ctx.keep_ms)))
    elseif is_twin then
      redis.call('HSET', queue__task .. id, 'idempotency_key', own.idempotency_key)
    end
  end
  if own.unique and not is_twin then queue__hold_once(ctx, 'unique:' .. own.unique, id) end
  if own.scope and not is_twin then queue__hold_once(ctx, 'scope:' .. own.scope, id) end
end

-- is_here(own): whether a task that belongs to another partition by now has to stay here: another task of its ordering
-- key has not ended here; or, without such a key, its parent is here, or a task that it waits for.
local function queue__is_here(own) local queue__task, queue__order = KEYS[23], KEYS[41]
  if own.ordering_key then return redis.call('EXISTS', queue__order .. own.ordering_key) == 1 end
  local other = own.parent or own.after and own.after[1]
  return other and redis.call('HEXISTS', queue__task .. other, 'created_ms') == 1
end

-- join_chains(ctx, id, own, place, by_index): let a new task wait for others (own.awaits). Its record is not written yet.
local function queue__join_chains(ctx, id, own, place, by_index)
  own.awaits = queue__await_others(ctx, id, own, place, by_index)
  own[#own + 1], own[#own + 2] = 'awaits', own.awaits
  ctx.gathers[id] = own.gather and string.format('%.0f', place)
end

-- join_gathering(ctx, own, parent): if the parent waits for its children, note in the record of a new child that it
-- counts, and the place of the parent, because a later task may have the same id.
local function queue__join_gathering(ctx, own, parent)
  local place = queue__gathers(ctx, parent)
  if place then
    own.gathered = true
    own[#own + 1], own[#own + 2] = 'gathered', place
  end
end

-- join_limit(ctx, id, score, limit, recheck_at_ms, tied): put a task into the queue of a limit, by its place.
-- recheck_at_ms: the new score of the queue in limit_lines, unless it is due earlier. The task may still expire. Its
-- fallback timer stops while it waits for the limit. write_joins stores where it waits.
local function queue__join_limit(ctx, id, score, limit, recheck_at_ms, tied) local queue__task, queue__deadlines = KEYS[23], KEYS[31]
  local line = ctx.joins[limit.key]
  if not line then
    line = { due_ms = recheck_at_ms, rows = {} }
    ctx.joins[limit.key], ctx.joins[#ctx.joins + 1] = line, limit.key
  end
  line.due_ms = math.min(line.due_ms, recheck_at_ms)
  local rows, at = line.rows, #line.rows
  rows[at + 1], rows[at + 2] = score, id
  redis.call('HSET', queue__task .. id, 'limited_by', limit.key)
  ctx.in_line[limit.key] = true
  if ctx.lane and recheck_at_ms < BAND then ctx.timed[ctx.lane] = true end
  if not tied then return end
  local own = redis.call('HMGET', queue__task .. id, 'expires_at_ms', 'deliveries')
  redis.call('ZREM', queue__deadlines, id)
  if own[1] and not own[2] then redis.call('ZADD', queue__deadlines, own[1], id) end
end

-- join_order(id, own, place): put a new task at the end of the line of its ordering key. Behind others it waits for its turn,
-- which comes when it is the first.
local function queue__join_order(id, own, place) local queue__order = KEYS[41]
  local line = queue__order .. own.ordering_key
  own.behind = redis.call('EXISTS', line) == 1
  redis.call('ZADD', line, place, id)
  if own.behind then own[#own + 1], own[#own + 2] = 'after_when', 'ended' end
end

-- known_as(id, stamp): the answer for an id that is in use: 'created' if this call created the task (or an earlier task
-- with this id), otherwise 'exists' and whether a later item of this call created it; nil if the id is free.
local function queue__known_as(id, stamp) local queue__task = KEYS[23]
  local row = redis.call('HMGET', queue__task .. id, 'rid', 'created_ms', 'earlier')
  if row[1] == stamp or string.find(' ' .. (row[3] or '') .. ' ', ' ' .. stamp .. ' ', 1, true) then return 'created' end
  if row[2] then return 'exists', queue__is_later(row[1], stamp) end
end

-- merge_task(ctx, twin, by, stamp, own, data): answer an enqueue with an existing task. by: what both have in common
-- (`rid`, `key`, `scope`, `unique`). It stores the answer, because the call may be repeated after that task has ended.
-- With coalesce=last, the task of a scope gets the new payload, and its data tier if that is stricter.
local function queue__merge_task(ctx, twin, by, stamp, own, data) local queue__task, queue__payload = KEYS[23], KEYS[24]
  if by == 'rid' then return end
  queue__hold_once(ctx, 'rid:' .. stamp, twin, 60000)
  if by == 'key' then return end
  queue__hold_keys(ctx, twin, own, true)
  if by == 'scope' and own.coalesce == 'last' then
    redis.call('SET', queue__payload .. twin, data)
    redis.call('HSET', queue__task .. twin, 'size', #data)
    local strictness = { public = 1, internal = 2, confidential = 3, restricted = 4 }
    local tier = own.tier or ctx.settings_tier
    if strictness[tier] > strictness[redis.call('HGET', queue__task .. twin, 'tier') or 'internal'] then
      redis.call('HSET', queue__task .. twin, 'tier', tier)
    end
  end
end

-- on_close(ctx): generated from lua/queue/noun.toml: calls the hooks of chains.
local function queue__on_close(ctx)
  if ctx.notes then queue__chains_on_close(ctx) end
end

-- read_clock(layout_min, clock, chosen): the time in ms, as a number and as text; or nil and the error to return, if
-- the layout of these scripts or the clock of the call does not fit the stored data. chosen: the clock of a base that
-- this call may create.
local function queue__read_clock(layout_min, clock, chosen)
  if tonumber(layout_min or 2) > 2 then
    return nil, redis.error_reply('ADEQ_LAYOUT queue: this data needs scripts of layout ' .. layout_min
      .. ' or newer, these are of layout ' .. 2 .. ': upgrade this client')
  end
  if ((clock or chosen) == 'test') ~= (now_ms > 0) then
    if chosen and not clock then return nil, redis.error_reply('ADEQ_CLOCK queue: now_ms goes with clock=test, and only with it') end
    return nil, redis.error_reply('ADEQ_CLOCK queue: now_ms must be '
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
local function queue__open(clock, row) local queue__config = KEYS[20]
  row = row or redis.call('HMGET', queue__config, 'layout_min', 'clock', 'events_max', 'tier', 'fair', 'mode', 'epoch', 'partitions', 'chains', 'limits', 'fair_top')
  local now, now_text = queue__read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_events_max = tonumber(row[3] or 100000), settings_tier = row[4] or 'internal', settings_fair = tonumber(row[5] or 0), settings_mode = row[6], settings_epoch = tonumber(row[7] or 0), settings_partitions = row[8], settings_chains = row[9] == '1', settings_limits = tonumber(row[10] or 0), settings_fair_top = tonumber(row[11] or 0), counts = {}, ended = 0, told = 0, next_ms = false, limit = row[10] and {}, limited = row[10] and {}, in_line = row[10] and {}, joins = row[10] and {}, timed = row[10] and {} }
end

-- shorten_family(ctx, id): remove links that are no longer needed. If a task is removed before its children, its stub
-- stays among its parent's children as a link, by which a cancelled tree finds them. A link without children is
-- removed. If a link's only child is a link, the child takes its place, behind all others, with the stamp of the last
-- cancelled tree. So there are fewer links than tasks.
-- LATE
local function queue__shorten_family(ctx, id) local queue__task, queue__children, queue__ends = KEYS[23], KEYS[39], KEYS[42]
  local link = redis.call('HMGET', queue__task .. id, 'gone', 'link', 'pruned')
  -- at most 1,100: each round takes out a link, and there is one for each task of the call, and two more
  while link[1] and link[2] do
    local parent, kids = link[2], redis.call('ZRANGE', queue__children .. id, 0, 1, 'WITHSCORES')
    local only = #kids == 2 and redis.call('HMGET', queue__task .. kids[1], 'gone', 'pruned')
    if #kids == 4 or (only and not only[1]) then return end
    redis.call('HDEL', queue__task .. id, 'link', 'pruned')
    redis.call('PEXPIRE', queue__task .. id, 60000)
    local score = redis.call('ZSCORE', queue__children .. parent, id)
    redis.call('ZREM', queue__children .. parent, id)
    if only then
      redis.call('DEL', queue__children .. id)
      if parent == kids[1] then  -- parent and child are each other's parent
        redis.call('HDEL', queue__task .. parent, 'link', 'pruned')
        redis.call('PEXPIRE', queue__task .. parent, 60000)
        return
      end
      redis.call('HSET', queue__task .. kids[1], 'link', parent)
      redis.call('ZADD', queue__children .. parent, string.format('%.0f', math.max(score or kids[2], kids[2]) + 1), kids[1])
      if tonumber(link[3] or 0) > tonumber(only[2] or 0) then
        redis.call('HSET', queue__task .. kids[1], 'pruned', link[3])
        redis.call('ZADD', queue__ends, ctx.now_text, 't ' .. kids[1] .. ' - 0 ' .. link[3])
      end
      return
    end
    id, link = parent, redis.call('HMGET', queue__task .. parent, 'gone', 'link', 'pruned')
  end
end

-- sweep_once(ctx, limit): delete expired fields of `once`, at most limit. Returns the number.
local function queue__sweep_once(ctx, limit) local queue__once, queue__once_due = KEYS[35], KEYS[36]
  local fields = redis.call('ZRANGE', queue__once_due, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, limit)
  if #fields == 0 then return 0 end
  -- at most 4,010: limit, as add_tasks gives it for 1,000 items
  redis.call('ZREM', queue__once_due, unpack(fields))
  redis.call('HDEL', queue__once, unpack(fields))
  return #fields
end

-- takes_plain_tasks(ctx): whether a script of another noun may add tasks here, which know no partitions.
local function queue__takes_plain_tasks(ctx)
  return ctx.settings_mode ~= 'draining' and not ctx.settings_partitions and ctx.settings_epoch == 0
end

-- write_counts(ctx): add what this call has counted to the totals, once a call and not once a task. A number is added to its counter,
-- a table of buckets to one counter for each bucket, and the sum of its values to another.
local function queue__write_counts(ctx) local queue__counters = KEYS[49]
  for name, counted in pairs(ctx.counts) do
    if type(counted) == 'number' then
      redis.call('HINCRBY', queue__counters, name, counted)
    else
      for bound, n in pairs(counted) do
        -- HMGET and HSET for all counters of the call would take 5 % more instructions: each name is searched in the hash.
        redis.call('HINCRBY', queue__counters, bound == 'sum' and name .. '_sum' or name .. ':' .. bound, n)
      end
    end
  end
end

-- write_joins(ctx, told): store which tasks have joined which limit queues since the last time. told: one event for each
-- queue says so.
local function queue__write_joins(ctx, told) local queue__blocked, queue__waiting, queue__limit_lines = KEYS[30], KEYS[44], KEYS[45]
  local all, looks = {}, {}
  for i, key in ipairs(ctx.joins) do
    local rows, ids = ctx.joins[key].rows, {}
    for at = 1, #rows, 2 do
      all[#all + 1], all[#all + 2], ids[#ids + 1] = rows[at], rows[at + 1], rows[at + 1]
    end
    redis.call('ZADD', queue__waiting .. key, unpack(rows))  -- at most 2,200: two for each task of a call, or that a claim looks at
    if told then queue__emit(ctx, 'task.limited', table.concat(ids, ' '), 'limit=' .. key) end
    looks[2 * i - 1], looks[2 * i] = ctx.joins[key].due_ms, key
  end
  -- at most 2,200: as above
  redis.call('ZADD', queue__blocked, unpack(all))
  redis.call('ZADD', queue__limit_lines, 'LT', unpack(looks))
  ctx.joins = {}
end

-- record_led(ctx, own, one, from): note that delegations have led a request from this reviewer to the one that it has now.
local function record_led(ctx, own, one, from)
  record_step(ctx, own, 'change.delegated', 'delegation', 'slot=' .. one.slot .. ' from=' .. from .. ' to=' .. one.reviewer
    .. ' chain=' .. string.gsub(string.sub(one.chain, 2), '>', ','), '')
end

-- retract(ctx, own, one, reason): take back the answer to a request. If it was an approval of an approved change, a new round begins. If it
-- was the last that kept a change from being approved, it is approved.
local function retract(ctx, own, one, reason) local inboxes = KEYS[5]
  record_step(ctx, own, 'change.answered', actor, 'slot=' .. one.slot .. ' action=retract for=' .. one.by, reason)
  if own.state == 'approved' then
    open_round(ctx, own, actor, 'retracted')
  else
    open_request(ctx, own, one)
    recheck_later(ctx, one)
    redis.call('ZADD', inboxes .. one.reviewer, inbox_score(own), own.id .. '/' .. one.slot)
    if decide(ctx, own, actor) then return { 'approved', own.state, own.round } end
  end
  return { 'recorded', own.state, own.round }
end

-- send_follows(ctx): enqueue the tasks of this call, if the queue of the settings is in the same slot and takes tasks as they are: it is
-- not draining, in no partitions, and of this layout and clock. Otherwise they wait in the outbox: a queue never refuses a vote. Their ids
-- end with what nobody but the caller can know before, so nobody can take them.
-- USES queue
local function send_follows(ctx) local queue__config, queue__task = KEYS[20], KEYS[23]
  local name = ':queue:' .. (ctx.settings_follow_queue or '') .. ':config'
  local line = name ~= ':queue:none:config' and string.sub(queue__config, -#name) == name and queue__open()
  if not line or not queue__takes_plain_tasks(line) then
    for _, follow in ipairs(ctx.follows) do put_out(ctx, follow) end  -- at most 400: two for each item, and for ten others
    return #ctx.follows
  end
  local domain = domain_name()
  local ids, payloads, envelopes, stamps, keys = {}, {}, {}, {}, {}
  for i, follow in ipairs(ctx.follows) do  -- at most 400: two for each item, and for ten others
    local word, rev, digest, kind_word, lane, priority = string.match(follow.text, '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+)$')
    local place = follow.seq .. '/' .. string.sub(redis.sha1hex(rid .. ' ' .. follow.id .. ' ' .. follow.seq), 1, 20)
    ids[i] = domain .. '/' .. follow.id .. '/' .. place
    note_task(follow.id, place)
    payloads[i] = '{"digest":"' .. digest .. '","domain":"' .. domain .. '","event":"' .. word .. '","id":"' .. follow.id
      .. '","rev":' .. rev .. ',"seq":' .. follow.seq .. '}'
    envelopes[i] = { 'kind', kind_word, 'lane', lane, 'priority', priority, kind = kind_word, lane = lane, priority = tonumber(priority) }
    stamps[i], keys[i] = rid .. '/' .. i, queue__task .. ids[i]
  end
  line.some_known = redis.call('EXISTS', unpack(keys)) > 0  -- at most 400: two for each item, and for ten others
  if not line.exists then queue__create_base() end
  queue__add_tasks(line, ids, payloads, envelopes, stamps)
  queue__on_close(line)
  queue__write_counts(line)
  return 0
end

-- shares_person(one, other): whether one of those who have a request, or have delegated it, has or has delegated another one.
local function shares_person(one, other)
  for person in string.gmatch(other.chain .. '>' .. string.sub(other.reviewer, 6), '[^>]+') do  -- at most 5: delegation_depth and a reviewer
    if is_asked(one, person) then return true end
  end
  return false
end

-- still_holds(ctx, own, one): whether the delegations by which an answered request came to its reviewer hold now: only then may the answer
-- become another.
local function still_holds(ctx, own, one)
  return one.chain == '' or not cut_chain(ctx, own, { reviewer = one.reviewer, chain = one.chain, via = one.via }, true)
end

-- take_place(ctx, own, one, reviewer, chain, via, before): a pending request has this reviewer from now on, and these have delegated it, by these
-- delegations. before: its chain and delegations until now, if `one` has others already.
local function take_place(ctx, own, one, reviewer, chain, via, before) local requests, inboxes = KEYS[3], KEYS[5]
  local id = own.id .. '/' .. one.slot
  keep_principals(own, one, before or one, chain, via)
  one.reviewer, one.chain, one.via, own.list_changed = reviewer, chain, via, true
  if own.state == 'reviewing' then redis.call('ZADD', inboxes .. reviewer, inbox_score(own), id) end
  join_people(own, one)
  redis.call('HSET', requests .. id, 'assigned_ms', ctx.now_text, 'delegated_to', chain ~= '' and reviewer or '', 'delegation_chain',
    (string.gsub(string.sub(chain, 2), '>', ',')), 'via', (string.gsub(via, '>', ',')))
end

-- whole_via(own, slot, chain, via): the delegations of a request, one for each person in its chain. Version 0.2.0 wrote some of them, or none,
-- into the slots of a change: then its record has all.
local function whole_via(own, slot, chain, via) local requests = KEYS[3]
  local function steps(text) return select(2, string.gsub(text, '>', '')) end
  if steps(via) == steps(chain) then return via end
  via = string.gsub(redis.call('HGET', requests .. own.id .. '/' .. slot, 'via') or '', ',', '>')
  return via .. string.rep('>', steps(chain) - steps(via))
end

  arg_made = { leave_away = leave_away, approve = approve, can_be_asked = can_be_asked, comment = comment, delegation_named = delegation_named, is_late = is_late, cut_chain = cut_chain, escalate = escalate, find_delegation = find_delegation, is_behind_another = is_behind_another, keep_principals = keep_principals, leads_on = leads_on, leave_place = leave_place, reject = reject, take_due = take_due, load_change = load_change, put_out = put_out, queue__await_deadline = queue__await_deadline, queue__delay_until = queue__delay_until, queue__on_end = queue__on_end, queue__share_place = queue__share_place, queue__find_duplicate = queue__find_duplicate, queue__find_line = queue__find_line, queue__find_obstacle = queue__find_obstacle, queue__full_score = queue__full_score, queue__hold_keys = queue__hold_keys, queue__is_here = queue__is_here, queue__join_chains = queue__join_chains, queue__join_gathering = queue__join_gathering, queue__join_limit = queue__join_limit, queue__join_order = queue__join_order, queue__known_as = queue__known_as, queue__merge_task = queue__merge_task, queue__shorten_family = queue__shorten_family, queue__sweep_once = queue__sweep_once, queue__write_joins = queue__write_joins, record_led = record_led, retract = retract, send_follows = send_follows, shares_person = shares_person, still_holds = still_holds, take_place = take_place, whole_via = whole_via }
  return arg_made
end

local ctx, refused = open()
if refused then return refused end
local person
person, refused = person_behind()
if refused then return refused end
for i, action in ipairs(item_action) do  -- at most 100: items
  if action == 'comment' and item_reason[i] == '' then return refuse('item[' .. i .. '].reason', '', 'the text of the comment') end
end
local before = replayed_reply(ctx, 'respond')
if before then return { 'ok', ctx.now, before } end
if item_count > 1 and not ctx.settings_batch_approvals then
  return refuse('item', item_count .. ' items', 'one item, because the setting batch_approvals is off')
end

ctx.caller, ctx.proof, ctx.follows = caller, proof, {}
local answers = {}
for i, id in ipairs(item_id) do
  if looked_enough(ctx) then
    answers[i] = { 'later' }
  else
    local own = arg_rare().load_change(ctx, id)
    answers[i] = own and answer(ctx, own, i, person) or { 'not_found' }
    if own then save_change(ctx, own) end
  end
end
take_others(ctx, 10)
if #ctx.follows > 0 then arg_rare().send_follows(ctx) end
note_reply(ctx, 'respond', answers)
return { 'ok', ctx.now, answers }
