#!lua flags=no-writes
-- generated from lua/change/list.v1.lua by lua/bundle.py; do not edit
-- change.list.v1: a page of changes, the newest first: all of a state, or of an author, a reviewer (`user:…` or `group:…`), a resource, a
-- team or a tag. A reviewer has requests, or has delegated them, as of the last move. `cursor` is what the last page answered, empty to
-- begin; an empty cursor in the answer means that there is no more.
--
-- DATA   change       prefix/hash {base}:change:       name
-- DATA   contributors prefix/set  {base}:contributors: name
-- DATA   requests     prefix/hash {base}:request:      id
-- DATA   states       prefix/zset {base}:state:        label
-- DATA   by_author    prefix/zset {base}:by:author:    label
-- DATA   by_reviewer  prefix/zset {base}:by:reviewer:  label
-- DATA   by_resource  prefix/zset {base}:by:resource:  label
-- DATA   by_team      prefix/zset {base}:by:team:      label
-- DATA   by_tag       prefix/zset {base}:by:tag:       label
-- DATA   config       hash        {base}:config
-- ARGV   by       enum state|author|reviewer|resource|team|tag
-- ARGV   value    label
-- ARGV   cursor   bytes 0..300  ?=
-- ARGV   limit    int 1..100    ?=20
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int cursor:text items:list(item)
-- EACH   item     found id:id state:text rev:int overdue:int summary:pairs(summary)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   3 commands; at most 230 commands, 4,600 steps

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
  KEYS = { arg_base .. ':change:', arg_base .. ':contributors:', arg_base .. ':request:', arg_base .. ':state:', arg_base .. ':by:author:', arg_base .. ':by:reviewer:', arg_base .. ':by:resource:', arg_base .. ':by:team:', arg_base .. ':by:tag:', arg_base .. ':config' }
end

local by = ARGV[1]
if by ~= 'state' and by ~= 'author' and by ~= 'reviewer' and by ~= 'resource' and by ~= 'team' and by ~= 'tag' then
  return refuse('by', by, 'one of state, author, reviewer, resource, team, tag')
end
local value = ARGV[2]
if not value or #value > 200 or not (arg_find(value, '^[%w._:/@+-]+$') or arg_label(value)) then
  return refuse('value', value, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
end
local cursor = ARGV[3]
if not cursor or #cursor > 300 then
  return refuse('cursor', cursor and #cursor, '0 to 300 bytes long')
end
local limit = ARGV[4]
if limit == '' then
  limit = 20
else
  limit = arg_uint(limit, 1, 100)
  if not limit then return refuse('limit', ARGV[4], 'an integer from 1 to 100') end
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
local function open(clock, row) local config = KEYS[10]
  row = row or redis.call('HMGET', config, 'layout_min', 'clock')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text,  }
end

-- rank_after(set, score, id): the number of members up to (score, id), even if this member was removed. Members with
-- equal scores are sorted by their bytes.
local function rank_after(set, score, id)
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

-- start_of(set, cursor): where the page behind a cursor begins in a set that is read from the highest score on; nil if it is no cursor.
-- A cursor is `<score> <member>` of the last entry that was read.
local function start_of(set, cursor)
  if cursor == '' then return 0 end
  local score, member = string.match(cursor, '^(%d+) (%S+)$')
  if not score then return nil end
  local below = rank_after(set, score, member)
  local start = redis.call('ZCARD', set) - below
  local at = redis.call('ZRANGE', set, start, start, 'REV')[1]
  return at == member and start + 1 or start
end

local arg_made
function arg_rare()
  if arg_made then return arg_made end

-- answered_by(one, person): whether this person has answered a request, or has sent the answer as the agent of another.
local function answered_by(one, person)
  return one.by == person or one.sender == person
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

-- summary_of(own): what a list tells of a change, as pairs.
local function summary_of(own) local change = KEYS[1]
  local names = { 'type', 'description', 'author', 'priority', 'review_priority', 'risk_score', 'risk_level', 'created_ms', 'submitted_ms' }
  local row, fields = redis.call('HMGET', change .. own.id, unpack(names)), {}  -- at most 9: names
  for i, name in ipairs(names) do fields[2 * i - 1], fields[2 * i] = name, row[i] or '' end
  return fields
end

-- whole_via(own, slot, chain, via): the delegations of a request, one for each person in its chain. Version 0.2.0 wrote some of them, or none,
-- into the slots of a change: then its record has all.
local function whole_via(own, slot, chain, via) local requests = KEYS[3]
  local function steps(text) return select(2, string.gsub(text, '>', '')) end
  if steps(via) == steps(chain) then return via end
  via = string.gsub(redis.call('HGET', requests .. own.id .. '/' .. slot, 'via') or '', ',', '>')
  return via .. string.rep('>', steps(chain) - steps(via))
end

  arg_made = { is_overdue = is_overdue, summary_of = summary_of, whole_via = whole_via }
  return arg_made
end

local states, by_author, by_reviewer, by_resource, by_team, by_tag = KEYS[4], KEYS[5], KEYS[6], KEYS[7], KEYS[8], KEYS[9]

local ctx, refused = open()
if refused then return refused end
local set = ({ state = states, author = by_author, reviewer = by_reviewer, resource = by_resource, team = by_team, tag = by_tag })[by] .. value
local start = start_of(set, cursor)
if not start then return refuse('cursor', cursor, 'empty, or what the page before answered') end
local page = redis.call('ZRANGE', set, start, start + limit - 1, 'REV', 'WITHSCORES')
local items = {}
for i = 1, #page, 2 do
  local own = read_change(page[i])
  items[#items + 1] = own and { 'found', own.id, own.state, own.rev, arg_rare().is_overdue(ctx, own) and 1 or 0, arg_rare().summary_of(own) } or nil
end
return { 'ok', ctx.now, #page == 2 * limit and page[#page] .. ' ' .. page[#page - 1] or '', items }
