#!lua flags=allow-oom
-- generated from lua/session/set_user.v1.lua by lua/bundle.py; do not edit
-- session.set_user.v1: end all sessions of a user (`revoke`), but for `keep`, the hash of one that stays valid; or have their roles read
-- again (`renew_authz`), because the rights of the user have changed; or both. Sessions that are made later are valid.
--
-- DATA   sessions prefix/hash {base}:s:       id
-- DATA   users    prefix/hash {base}:u:       label
-- DATA   by_user  prefix/zset {base}:of:      label
-- DATA   all      zset        {base}:all
-- DATA   config   hash        {base}:config
-- DATA   once     hash        {base}:once
-- DATA   once_due zset        {base}:once:due
-- DATA   events   stream      {base}:events
-- ARGV   rid         id
-- ARGV   user        label
-- ARGV   revoke      bool             ?=0
-- ARGV   renew_authz bool             ?=0
-- ARGV   keep        id               ?=
-- ARGV   source      bytes 0..200     ?=
-- ARGV   trace       bytes 0..128     ?=
-- ARGV   now_ms      int 0..9000000000000 ?=0
-- RETURN ok          now_ms:int not_before_us:int authz_ver:int ended:int kept:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  session.user
-- ROLE   auth
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   15 commands; at most 1,200 commands, 12,000 steps

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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{session:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:session:[%w._@+-]+):config$') or string.match(KEYS[1], '^([%w._@+-]+:{session:[%w._@+-]+/[%w._@+-]+}):config$') or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:session:[%w._@+-]+/[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{session:<name>}:config, <prefix>:{<slot>}:session:<name>:config, <prefix>:{session:<name>/<tag>}:config, <prefix>:{<slot>}:session:<name>/<tag>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. '!auth' then return refuse('key gate', KEYS[2], arg_base .. '!auth') end
  KEYS = { arg_base .. ':s:', arg_base .. ':u:', arg_base .. ':of:', arg_base .. ':all', arg_base .. ':config', arg_base .. ':once', arg_base .. ':once:due', arg_base .. ':events' }
end

local rid = ARGV[1]
if not rid or #rid > 200 or not arg_find(rid, '^[%w._:/@+-]+$') then
  return refuse('rid', rid, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local user = ARGV[2]
if not user or #user > 200 or not (arg_find(user, '^[%w._:/@+-]+$') or arg_label(user)) then
  return refuse('user', user, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
end
local revoke = ARGV[3]
if revoke ~= '0' and revoke ~= '1' and revoke ~= '' then
  return refuse('revoke', revoke, '0 or 1')
end
revoke = revoke == '1'
local renew_authz = ARGV[4]
if renew_authz ~= '0' and renew_authz ~= '1' and renew_authz ~= '' then
  return refuse('renew_authz', renew_authz, '0 or 1')
end
renew_authz = renew_authz == '1'
local keep = ARGV[5]
if keep ~= '' and (not keep or #keep > 200 or not arg_find(keep, '^[%w._:/@+-]+$')) then
  return refuse('keep', keep, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local source = ARGV[6]
if not source or #source > 200 then
  return refuse('source', source and #source, '0 to 200 bytes long')
end
local trace = ARGV[7]
if not trace or #trace > 128 then
  return refuse('trace', trace and #trace, '0 to 128 bytes long')
end
local now_ms = ARGV[8]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[8], 'an integer from 0 to 9000000000000') end
end
if #ARGV ~= 8 then
  return redis.error_reply('ADEQ_ARG expected 8 arguments, got ' .. #ARGV)
end

local arg_rare

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

-- conclude(ctx, verb, status, values): answer a call, and remember the answer for the case that the call is sent again. values: integers.
-- EARLY
local function conclude(ctx, verb, status, values)
  if not ctx.exists then arg_rare().create_base() end
  local words = {}
  for i, value in ipairs(values) do words[i] = string.format('%.0f', value) end
  note_answers(ctx, verb, { { status, table.concat(words, '/') } })
  return { status, ctx.now, unpack(values) }  -- at most 4: fields of an answer
end

-- done_before(ctx, verb): the answer that an earlier call with this verb and rid stored in the last minute, or nil.
local function done_before(ctx, verb) local once = KEYS[6]
  if rid == '' then return nil end
  local word, until_ms = string.match(redis.call('HGET', once, 'done:' .. verb .. ':' .. rid) or '', '^(%S+) (%d+)$')
  if word and tonumber(until_ms) > ctx.now then return word end
end

-- replayed_answers(ctx, verb, count): the answers to the same call of count items within the last minute, or nil.
local function replayed_answers(ctx, verb, count)
  local answers = {}
  for status, value in string.gmatch(done_before(ctx, verb) or '', '([^=,]+)=?([^,]*)') do
    answers[#answers + 1] = { status, value ~= '' and value or nil }
  end
  if #answers == count then return answers end
end

-- concluded_before(ctx, verb): the answer to the same call within the last minute, or nil.
-- EARLY
local function concluded_before(ctx, verb)
  local before = replayed_answers(ctx, verb, 1)
  if not before then return nil end
  local answer = { before[1][1], ctx.now }
  for value in string.gmatch(before[1][2] or '', '%d+') do answer[#answer + 1] = tonumber(value) end
  return answer
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

-- find_session(ctx, hash): a valid session: its fields by name, with its own hash as `hash`; its record as it is stored; `authz_ver` of its
-- user; and whether the id is an older one in its grace. Nil if there is no such session.
-- EARLY
local function find_session(ctx, hash) local sessions, users = KEYS[1], KEYS[2]
  local record, own, rotated
  for _ = 1, 6 do
    record = redis.call('HGETALL', sessions .. hash)  -- at most 40: names and values of a session
    own = { hash = hash }
    for i = 1, #record, 2 do own[record[i]] = record[i + 1] end
    if not own.alias then break end
    if tonumber(own.until_ms) <= ctx.now then return nil end
    hash, rotated = own.alias, true
  end
  if not own.user or ctx.now >= tonumber(own.ends_ms) or ctx.now >= own.active_ms + own.idle_ms then return nil end
  local known = redis.call('HMGET', users .. own.user, 'not_before_us', 'authz_ver')
  if not known[1] or tonumber(own.born_us) <= tonumber(known[1]) then return nil end
  return own, record, tonumber(known[2]), rotated
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
local function open(clock, row) local config = KEYS[5]
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'events_max')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_events_max = tonumber(row[3] or 1000) }
end

-- read_user(ctx, user): the record of a user, also of one that is not stored: not_before (microseconds), authz_ver, ends_ms; `exists`; and
-- begun, which not_before was when the record was made. A lost record ends all sessions, and revives none: the new one begins later.
local function read_user(ctx, user) local users = KEYS[2]
  local row = redis.call('HMGET', users .. user, 'not_before_us', 'authz_ver', 'ends_ms', 'begun_us')
  if not row[1] then
    local begun = ctx.now * 1000
    return { not_before = begun, authz_ver = 1, ends_ms = 0, begun = begun }
  end
  return { exists = true, not_before = tonumber(row[1]), authz_ver = tonumber(row[2]), ends_ms = tonumber(row[3]), begun = tonumber(row[4]) }
end

-- write_user(ctx, user, known): store the record of a user, as read_user gives it, until a while after the end of the last session.
local function write_user(ctx, user, known) local users, by_user = KEYS[2], KEYS[3]
  redis.call('HSET', users .. user, 'not_before_us', string.format('%.0f', known.not_before), 'authz_ver',
    string.format('%.0f', known.authz_ver), 'ends_ms', string.format('%.0f', known.ends_ms), 'begun_us', string.format('%.0f', known.begun))
  local keep_ms = math.max(known.ends_ms - ctx.now, 0) + 86400000
  redis.call('PEXPIRE', users .. user, keep_ms)
  redis.call('PEXPIRE', by_user .. user, keep_ms)
end

local arg_made
function arg_rare()
  if arg_made then return arg_made end

-- create_base(clock): store the layout and the clock of a new base. The clock is `test` or `server` (the default).
local function create_base(clock) local config = KEYS[5]
  redis.call('HSET', config, 'layout', 1, 'layout_min', 1, 'clock', clock == 'test' and 'test' or 'server')
end

-- is_valid(ctx, not_before, row): whether a session is valid. not_before: that of its user. row: its user, born_us, active_ms, idle_ms and
-- ends_ms, as they are stored, if it is stored.
local function is_valid(ctx, not_before, row)
  return row[1] and tonumber(row[2]) > not_before and ctx.now < row[3] + row[4] and ctx.now < tonumber(row[5])
end

-- remove_sessions(user, hashes): delete sessions of a user, at most 1,000.
local function remove_sessions(user, hashes) local sessions, by_user, all = KEYS[1], KEYS[3], KEYS[4]
  if #hashes == 0 then return end
  local names = {}
  for i, hash in ipairs(hashes) do names[i] = sessions .. hash end
  redis.call('UNLINK', unpack(names))  -- at most 1,000: sessions of a user
  redis.call('ZREM', by_user .. user, unpack(hashes))
  redis.call('ZREM', all, unpack(hashes))
end

-- sort_out(ctx, user, known): the stored sessions of a user that are valid, and the others, each in the order of their ends.
local function sort_out(ctx, user, known) local sessions, by_user = KEYS[1], KEYS[3]
  local valid, others = {}, {}
  for _, hash in ipairs(redis.call('ZRANGE', by_user .. user, 0, 999)) do  -- a user has no more
    local row = known.exists and redis.call('HMGET', sessions .. hash, 'user', 'born_us', 'active_ms', 'idle_ms', 'ends_ms')
    local list = row and is_valid(ctx, known.not_before, row) and valid or others
    list[#list + 1] = hash
  end
  return valid, others
end

  arg_made = { create_base = create_base, remove_sessions = remove_sessions, sort_out = sort_out }
  return arg_made
end

local sessions = KEYS[1]

local ctx, refused = open()
if refused then return refused end
local before = concluded_before(ctx, 'set_user')
if before then return before end
local known = read_user(ctx, user)
local ended, kept = 0, 0
if renew_authz then known.authz_ver = known.authz_ver + 1 end
if revoke then
  local own = keep ~= '' and find_session(ctx, keep)
  if own and own.user ~= user then own = nil end
  local valid, others = arg_rare().sort_out(ctx, user, known)
  known.not_before = math.max(ctx.now * 1000, known.not_before + 1)
  for _, hash in ipairs(valid) do
    if not (own and own.hash == hash) then
      others[#others + 1] = hash
      ended = ended + 1
    end
  end
  if own then
    kept = 1
    redis.call('HSET', sessions .. own.hash, 'born_us', string.format('%.0f', known.not_before + 1))
  end
  arg_rare().remove_sessions(user, others)
end
write_user(ctx, user, known)
emit(ctx, 'session.user', user, (revoke and 'revoked=' .. ended .. ' ' or '') .. string.format('authz_ver=%.0f', known.authz_ver))
return conclude(ctx, 'set_user', 'ok', { known.not_before, known.authz_ver, ended, kept })
