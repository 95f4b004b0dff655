#!lua flags=no-writes
-- generated from lua/change/inbox.v1.lua by lua/bundle.py; do not edit
-- change.inbox.v1: a page of the requests that a user can answer now, the most urgent first: those to the user and to these groups.
-- Requests that the user cannot answer are left out: of changes that it has written, of those that its person has answered already or is
-- behind another request of, of reviews that are over, and of those without agents, if it has another `principal`. Delegations count as of
-- now: of those that have begun or changed and were not moved yet, the inboxes of at most 16 persons are read. A call looks at 200 requests,
-- fewer where the conditions of delegations take long to compare, so a page may be shorter than `limit`, and even empty, with a cursor.
-- `pending`: how many requests ask the user, groups not counted, as of the last move.
--
-- DATA   change       prefix/hash {base}:change:       name
-- DATA   contributors prefix/set  {base}:contributors: name
-- DATA   requests     prefix/hash {base}:request:      id
-- DATA   inboxes      prefix/zset {base}:inbox:        label
-- DATA   delegations  prefix/hash {base}:delegations:  label
-- DATA   delegating   zset        {base}:delegating
-- DATA   away         prefix/zset {base}:away:         label
-- DATA   givers       prefix/zset {base}:givers:       label
-- DATA   userstats    prefix/hash {base}:userstats:    label
-- DATA   config       hash        {base}:config
-- ARGV   user     label
-- ARGV   principal label        ?=
-- ARGV   groups   labels 0..32  ?=
-- ARGV   cursor   bytes 0..300  ?=
-- ARGV   limit    int 1..100    ?=20
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int cursor:text pending:int items:list(item) stats:pairs(userstats)
-- EACH   item     request id:id slot:int rev:int digest:text due_ms:int summary:pairs(summary)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   3 commands; at most 1,200 commands, 1,400,000 steps

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
  KEYS = { arg_base .. ':change:', arg_base .. ':contributors:', arg_base .. ':request:', arg_base .. ':inbox:', arg_base .. ':delegations:', arg_base .. ':delegating', arg_base .. ':away:', arg_base .. ':givers:', arg_base .. ':userstats:', arg_base .. ':config' }
end

local user = ARGV[1]
if not user or #user > 200 or not (arg_find(user, '^[%w._:/@+-]+$') or arg_label(user)) then
  return refuse('user', user, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
end
local principal = ARGV[2]
if principal ~= '' and (not principal or #principal > 200 or not (arg_find(principal, '^[%w._:/@+-]+$') or arg_label(principal))) then
  return refuse('principal', principal, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
end
local groups = ARGV[3]
if groups == '' then
  groups = {}
else
  groups = arg_ids(groups, 0, 32, arg_label)
  if not groups then return refuse('groups', ARGV[3], '0 to 32 labels with commas between them') end
end
local cursor = ARGV[4]
if not cursor or #cursor > 300 then
  return refuse('cursor', cursor and #cursor, '0 to 300 bytes long')
end
local limit = ARGV[5]
if limit == '' then
  limit = 20
else
  limit = arg_uint(limit, 1, 100)
  if not limit then return refuse('limit', ARGV[5], 'an integer from 1 to 100') end
end
local now_ms = ARGV[6]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[6], 'an integer from 0 to 9000000000000') end
end
if #ARGV ~= 6 then
  return redis.error_reply('ADEQ_ARG expected 6 arguments, got ' .. #ARGV)
end

local arg_rare

-- cascades(ctx, one): whether a request may be delegated on, by the delegation that led to its reviewer.
local function cascades(ctx, one)
  local giver, name = string.match(one.chain, '^.*>([^>]+)$'), string.match(one.via, '^.*>([^>:]*)[^>]*$')
  local led = giver and name ~= '' and arg_rare().delegation_named(ctx, giver, name)
  return not led or led.fields.cascade == '1'
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

-- find_slot(own, slot): the request of this slot, and its index in slots_of; or nil.
local function find_slot(own, slot)
  for i, one in ipairs(slots_of(own)) do  -- at most 32: slots
    if tonumber(one.slot) == slot then return one, i end
  end
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'delegations')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_delegations = row[3] == '1', known = {}, late = {}, words = {}, looked = 0 }
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

-- read_inboxes(sets, cursor, count): the next entries of several inboxes together, { member, score, member, score, … }, the most urgent first
-- and each once; and whether there may be more. It ends early where one of the inboxes has more than a part that was read. nil: no cursor.
local function read_inboxes(sets, cursor, count)
  local part, pages, places, merged = math.max(20, math.floor(200 / #sets)), {}, {}, {}
  for i, set in ipairs(sets) do  -- at most 66: sets
    local start = start_of(set, cursor)
    if not start then return nil end
    pages[i], places[i] = redis.call('ZRANGE', set, start, start + part - 1, 'REV', 'WITHSCORES'), 1
  end
  for _ = 1, count do  -- at most 200: count
    local best
    for i, page in ipairs(pages) do  -- at most 66: sets
      local at = places[i]
      if at > 2 * part then return merged, true end
      local score = tonumber(page[at + 1])
      if score and (not best or score > best.score or score == best.score and arg_rare().bytes_before(best.member, page[at])) then
        best = { page = i, member = page[at], score = score }
      end
    end
    if not best then return merged, false end
    if merged[#merged - 1] ~= best.member then
      merged[#merged + 1], merged[#merged + 2] = best.member, pages[best.page][places[best.page] + 1]
    end
    places[best.page] = places[best.page] + 2
  end
  return merged, true
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

-- summary_of(own): what a list tells of a change, as pairs.
local function summary_of(own) local change = KEYS[1]
  local names = { 'type', 'description', 'author', 'priority', 'review_priority', 'risk_score', 'risk_level', 'created_ms', 'submitted_ms' }
  local row, fields = redis.call('HMGET', change .. own.id, unpack(names)), {}  -- at most 9: names
  for i, name in ipairs(names) do fields[2 * i - 1], fields[2 * i] = name, row[i] or '' end
  return fields
end

-- shown_entry(ctx, id, names, person): the entry of an inbox for a request that this user can answer now, or nil. names: the user and its
-- groups, as reviewers.
local function shown_entry(ctx, id, names, person)
  local name, slot = string.match(id, '^(.+)/(%d+)$')
  local own = read_change(name)
  if not own or own.state ~= 'reviewing' or arg_rare().is_overdue(ctx, own) then return nil end
  if person ~= user and text_of(own, 'p_agents_may_vote') ~= '1' then return nil end
  if text_of(own, 'p_contributors_may_vote') ~= '1' and arg_rare().has_written(name, { user, person }) then return nil end
  resolve_requests(ctx, own)
  local one = find_slot(own, tonumber(slot))
  if not one or one.status ~= 'pending' or not names[one.reviewer] or arg_rare().has_answered(own, person) then return nil end
  if is_behind_another(own, one, { user, person }) then return nil end
  return { 'request', name, tonumber(slot), own.rev, own.digest, own.timeout_at_ms, summary_of(own) }
end

local arg_made
function arg_rare()
  if arg_made then return arg_made end

-- givers_to(ctx, person, late): whose delegations lead to a person: those of `late` first, then 64 others, through whom a late one may lead here.
local function givers_to(ctx, person, late) local givers = KEYS[8]
  local key, list = givers .. person, {}
  local others = redis.call('ZRANGE', key, ctx.now_text, '+inf', 'BYSCORE', 'LIMIT', 0, 64)
  if not others[64] then return others end
  local ends = redis.call('ZMSCORE', key, unpack(late))  -- at most 64: late
  for i, giver in ipairs(late) do  -- at most 64: late
    if ends[i] then list[#list + 1] = giver end
  end
  for _, giver in ipairs(others) do list[#list + 1] = giver end  -- at most 64: the limit
  return list
end

-- is_late(ctx, person): whether delegations of this person have begun, ended or changed since its requests were moved; or one of its requests
-- has opened.
local function is_late(ctx, person) local delegating = KEYS[6]
  if ctx.late[person] == nil then
    local since = redis.call('ZSCORE', delegating, person)
    ctx.late[person] = since and tonumber(since) <= ctx.now or false
  end
  return ctx.late[person]
end

-- add_late_sets(ctx, sets, user): add the sets with requests that belong to this user, but were not moved there yet: what it has delegated, and
-- the inboxes of those whose delegations lead here. It looks at 64 persons, and adds the sets of 16; a sweep brings the others.
local function add_late_sets(ctx, sets, user) local inboxes, delegating, away = KEYS[4], KEYS[6], KEYS[7]
  if is_late(ctx, user) then sets[#sets + 1] = away .. user end
  local late = redis.call('ZRANGE', delegating, '-inf', ctx.now_text, 'BYSCORE', 'LIMIT', 0, 64)
  if not late[1] then return end
  local seen, left, added = { [user] = true }, { user }, 0
  for at = 1, 64 do  -- at most 64: persons
    local person = left[at]
    if not person or added == 16 then return end
    if at > 1 and is_late(ctx, person) then
      sets[#sets + 1] = inboxes .. 'user:' .. person
      sets[#sets + 1] = away .. person
      added = added + 1
    end
    for _, giver in ipairs(givers_to(ctx, person, late)) do  -- at most 128: late ones and others
      if not seen[giver] then left[#left + 1] = giver end
      seen[giver] = true
    end
  end
end

-- answered_by(one, person): whether this person has answered a request, or has sent the answer as the agent of another.
local function answered_by(one, person)
  return one.by == person or one.sender == person
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
local function delegations_of(ctx, person) local delegations = KEYS[5]
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

-- leads_on(own, person, fields): whether a delegation of this person may lead a request on: neither the person nor, if it is an agent, the
-- person behind it has answered another request, and the latter is no contributor.
local function leads_on(own, person, fields)
  local behind = fields['for']
  if has_answered(own, person) or behind and has_answered(own, behind) then return false end
  return not behind or text_of(own, 'p_contributors_may_vote') == '1' or not has_written(own.id, { behind })
end

-- looked_enough(ctx): whether this call has compared so much that it ends here, with the rest for the next one. How much is done in a call
-- depends on it, but nobody's request. It is about 60 ms of work.
local function looked_enough(ctx)
  return ctx.looked > 500000
end

-- whole_via(own, slot, chain, via): the delegations of a request, one for each person in its chain. Version 0.2.0 wrote some of them, or none,
-- into the slots of a change: then its record has all.
local function whole_via(own, slot, chain, via) local requests = KEYS[3]
  local function steps(text) return select(2, string.gsub(text, '>', '')) end
  if steps(via) == steps(chain) then return via end
  via = string.gsub(redis.call('HGET', requests .. own.id .. '/' .. slot, 'via') or '', ',', '>')
  return via .. string.rep('>', steps(chain) - steps(via))
end

  arg_made = { is_late = is_late, add_late_sets = add_late_sets, bytes_before = bytes_before, has_written = has_written, can_be_asked = can_be_asked, delegation_named = delegation_named, cut_chain = cut_chain, find_delegation = find_delegation, has_answered = has_answered, is_overdue = is_overdue, leads_on = leads_on, looked_enough = looked_enough, whole_via = whole_via }
  return arg_made
end

local inboxes, userstats = KEYS[4], KEYS[9]

local ctx, refused = open()
if refused then return refused end
if #user > 195 then return refuse('user', user, 'at most 195 characters, as in user:<id>') end
refused = refuse_hidden('user', user) or refuse_hidden('principal', principal)
if refused then return refused end
local sets, names = { inboxes .. 'user:' .. user }, { ['user:' .. user] = true }
for _, group in ipairs(groups) do  -- at most 32: groups
  if #group > 194 then return refuse('groups', group, 'at most 194 characters each, as in group:<name>') end
  if not names['group:' .. group] then sets[#sets + 1] = inboxes .. 'group:' .. group end
  names['group:' .. group] = true
end
if ctx.settings_delegations then arg_rare().add_late_sets(ctx, sets, user) end
local page, more = read_inboxes(sets, cursor, 200)
if not page then return refuse('cursor', cursor, 'empty, or what the page before answered') end
local items, last = {}, 0
for i = 1, #page, 2 do
  if #items == limit or arg_rare().looked_enough(ctx) then break end
  items[#items + 1] = shown_entry(ctx, page[i], names, principal ~= '' and principal or user)
  last = i
end
more = more or last + 1 < #page
return { 'ok', ctx.now, more and page[last + 1] .. ' ' .. page[last] or '', redis.call('ZCARD', inboxes .. 'user:' .. user), items,
  redis.call('HGETALL', userstats .. user) }  -- at most 150: two for each of 31 days, 33 bounds, three totals
