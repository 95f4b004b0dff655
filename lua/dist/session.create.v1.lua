#!lua
-- generated from lua/session/create.v1.lua by lua/bundle.py; do not edit
-- session.create.v1: make a session of a user. `hash` is SHA-256, in hex, of the realm, a zero byte and the id, which the client has drawn:
-- 32 random bytes. The server never sees the id. `expect_us` is `not_before_us` of the user as it was read before the login was checked:
-- if the sessions of the user were revoked since, the answer is `revoked_since`; -1: do not compare. `authz_ver` is that of the user when
-- the roles were read; -1: the present one. If the user has `limit` sessions, the one that would end first is ended, or the call is refused.
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
-- ARGV   hash        id
-- ARGV   user        label
-- ARGV   name        bytes 0..200     ?=
-- ARGV   roles       labels 0..64     ?=
-- ARGV   permissions labels 0..256    ?=
-- ARGV   address     bytes 0..100     ?=
-- ARGV   agent       bytes 0..512     ?=
-- ARGV   data        bytes 0..16384   ?=
-- ARGV   idle_ms     int 1000..31536000000 ?=86400000
-- ARGV   lifetime_ms int 1000..31536000000 ?=604800000
-- ARGV   limit       int 1..1000      ?=1000
-- ARGV   when_full   enum end_oldest|refuse ?=end_oldest
-- ARGV   expect_us   int -1..9007199254740991 ?=-1
-- ARGV   authz_ver   int -1..9007199254740991 ?=-1
-- ARGV   source      bytes 0..200     ?=
-- ARGV   trace       bytes 0..128     ?=
-- ARGV   now_ms      int 0..9000000000000 ?=0
-- RETURN created       now_ms:int created_ms:int ends_ms:int authz_ver:int authz_stale:int
-- RETURN exists        now_ms:int
-- RETURN full          now_ms:int sessions:int
-- RETURN revoked_since now_ms:int not_before_us:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  session.created session.ended
-- ROLE   auth
-- REPLAY rid
-- COST   19 commands; at most 2,300 commands, 18,000 steps

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
local function arg_int(v, min, max)
  if not v or #v > 17 or (v ~= '0' and not arg_find(v, '^%-?[1-9]%d*$')) then return nil end
  local n = v + 0
  if n >= min and n <= max and (n < 0 or #v <= 16) then return n end
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
local hash = ARGV[2]
if not hash or #hash > 200 or not arg_find(hash, '^[%w._:/@+-]+$') then
  return refuse('hash', hash, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local user = ARGV[3]
if not user or #user > 200 or not (arg_find(user, '^[%w._:/@+-]+$') or arg_label(user)) then
  return refuse('user', user, 'a label: 1 to 200 bytes of UTF-8: A-Z a-z 0-9 . _ : / @ + - and non-ASCII characters except controls and spaces')
end
local name = ARGV[4]
if not name or #name > 200 then
  return refuse('name', name and #name, '0 to 200 bytes long')
end
local roles = ARGV[5]
if roles == '' then
  roles = {}
else
  roles = arg_ids(roles, 0, 64, arg_label)
  if not roles then return refuse('roles', ARGV[5], '0 to 64 labels with commas between them') end
end
local permissions = ARGV[6]
if permissions == '' then
  permissions = {}
else
  permissions = arg_ids(permissions, 0, 256, arg_label)
  if not permissions then return refuse('permissions', ARGV[6], '0 to 256 labels with commas between them') end
end
local address = ARGV[7]
if not address or #address > 100 then
  return refuse('address', address and #address, '0 to 100 bytes long')
end
local agent = ARGV[8]
if not agent or #agent > 512 then
  return refuse('agent', agent and #agent, '0 to 512 bytes long')
end
local data = ARGV[9]
if not data or #data > 16384 then
  return refuse('data', data and #data, '0 to 16384 bytes long')
end
local idle_ms = ARGV[10]
if idle_ms == '' then
  idle_ms = 86400000
else
  idle_ms = arg_uint(idle_ms, 1000, 31536000000)
  if not idle_ms then return refuse('idle_ms', ARGV[10], 'an integer from 1000 to 31536000000') end
end
local lifetime_ms = ARGV[11]
if lifetime_ms == '' then
  lifetime_ms = 604800000
else
  lifetime_ms = arg_uint(lifetime_ms, 1000, 31536000000)
  if not lifetime_ms then return refuse('lifetime_ms', ARGV[11], 'an integer from 1000 to 31536000000') end
end
local limit = ARGV[12]
if limit == '' then
  limit = 1000
else
  limit = arg_uint(limit, 1, 1000)
  if not limit then return refuse('limit', ARGV[12], 'an integer from 1 to 1000') end
end
local when_full = ARGV[13]
if when_full == '' then
  when_full = 'end_oldest'
elseif when_full ~= 'end_oldest' and when_full ~= 'refuse' then
  return refuse('when_full', when_full, 'one of end_oldest, refuse')
end
local expect_us = ARGV[14]
if expect_us == '' then
  expect_us = -1
else
  expect_us = arg_int(expect_us, -1, 9007199254740991)
  if not expect_us then return refuse('expect_us', ARGV[14], 'an integer from -1 to 9007199254740991') end
end
local authz_ver = ARGV[15]
if authz_ver == '' then
  authz_ver = -1
else
  authz_ver = arg_int(authz_ver, -1, 9007199254740991)
  if not authz_ver then return refuse('authz_ver', ARGV[15], 'an integer from -1 to 9007199254740991') end
end
local source = ARGV[16]
if not source or #source > 200 then
  return refuse('source', source and #source, '0 to 200 bytes long')
end
local trace = ARGV[17]
if not trace or #trace > 128 then
  return refuse('trace', trace and #trace, '0 to 128 bytes long')
end
local now_ms = ARGV[18]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[18], 'an integer from 0 to 9000000000000') end
end
if #ARGV ~= 18 then
  return redis.error_reply('ADEQ_ARG expected 18 arguments, got ' .. #ARGV)
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

-- handle_of(hash): what a session is called in events and lists. Neither its id nor the stored hash can be found from it.
local function handle_of(hash)
  return string.sub(redis.sha1hex(hash), 1, 16)
end

-- keep_until_end(ctx, hash, active_ms, idle_ms, ends_ms): let the server delete a session when it has ended a while ago. The stored times
-- decide whether it is valid.
local function keep_until_end(ctx, hash, active_ms, idle_ms, ends_ms) local sessions = KEYS[1]
  redis.call('PEXPIRE', sessions .. hash, math.min(active_ms + idle_ms, ends_ms) - ctx.now + 3600000)
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

-- remove_sessions(user, hashes): delete sessions of a user, at most 1,000.
local function remove_sessions(user, hashes) local sessions, by_user, all = KEYS[1], KEYS[3], KEYS[4]
  if #hashes == 0 then return end
  local names = {}
  for i, hash in ipairs(hashes) do names[i] = sessions .. hash end
  redis.call('UNLINK', unpack(names))  -- at most 1,000: sessions of a user
  redis.call('ZREM', by_user .. user, unpack(hashes))
  redis.call('ZREM', all, unpack(hashes))
end

-- sweep_ended(ctx, limit): delete sessions whose lifetime is over, at most limit. Returns the number.
local function sweep_ended(ctx, limit) local sessions, by_user, all = KEYS[1], KEYS[3], KEYS[4]
  local hashes = redis.call('ZRANGE', all, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, limit)
  for _, hash in ipairs(hashes) do
    local user = redis.call('HGET', sessions .. hash, 'user')
    if user then redis.call('ZREM', by_user .. user, hash) end
    redis.call('UNLINK', sessions .. hash)
  end
  if #hashes > 0 then redis.call('ZREM', all, unpack(hashes)) end  -- at most 1,000: limit
  return #hashes
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

  arg_made = { create_base = create_base, sort_out = sort_out }
  return arg_made
end

local sessions, by_user, all = KEYS[1], KEYS[3], KEYS[4]

local ctx, refused = open()
if refused then return refused end
local before = concluded_before(ctx, 'create')
if before then return before end
local known = read_user(ctx, user)
local seen = expect_us == (known.exists and known.not_before or 0)
  or expect_us == 0 and known.not_before == known.begun  -- the record was made since, and nothing revoked
if expect_us >= 0 and not seen then
  return conclude(ctx, 'create', 'revoked_since', { known.exists and known.not_before or 0 })
end
if redis.call('EXISTS', sessions .. hash) == 1 then return conclude(ctx, 'create', 'exists', {}) end
local stored = redis.call('ZCARD', by_user .. user)
local ended, others = {}, {}
if stored > 0 and (stored >= limit or not known.exists) then
  local valid
  valid, others = arg_rare().sort_out(ctx, user, known)
  if #valid >= limit and when_full == 'refuse' then return conclude(ctx, 'create', 'full', { #valid }) end
  for i = 1, #valid - limit + 1 do ended[i] = valid[i] end
end

redis.call('ZREMRANGEBYSCORE', by_user .. user, '-inf', ctx.now)
remove_sessions(user, others)
remove_sessions(user, ended)
for _, other in ipairs(ended) do emit(ctx, 'session.ended', handle_of(other), 'user=' .. user) end
local ends_ms = ctx.now + lifetime_ms
local ends = string.format('%.0f', ends_ms)
known.ends_ms = math.max(known.ends_ms, ends_ms)
local version = authz_ver >= 0 and authz_ver or known.authz_ver
local record = { 'user', user, 'created_ms', ctx.now_text, 'born_us', string.format('%.0f', known.not_before + 1), 'active_ms', ctx.now_text,
  'idle_ms', string.format('%.0f', idle_ms), 'ends_ms', ends, 'ver', '1', 'authz_ver', string.format('%.0f', version) }
local more = { 'name', name, 'roles', table.concat(roles, ','), 'permissions', table.concat(permissions, ','), 'address', address,
  'agent', agent, 'data', data }
for i = 1, #more, 2 do
  if more[i + 1] ~= '' then
    record[#record + 1] = more[i]
    record[#record + 1] = more[i + 1]
  end
end
redis.call('HSET', sessions .. hash, unpack(record))  -- at most 28: names and values of a session
keep_until_end(ctx, hash, ctx.now, idle_ms, ends_ms)
redis.call('ZADD', by_user .. user, ends, hash)
redis.call('ZADD', all, ends, hash)
write_user(ctx, user, known)
emit(ctx, 'session.created', handle_of(hash), 'user=' .. user)
sweep_ended(ctx, 10)
return conclude(ctx, 'create', 'created', { ctx.now, ends_ms, version, version == known.authz_ver and 0 or 1 })
