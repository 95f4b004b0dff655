#!lua flags=allow-oom
-- generated from lua/session/get.v1.lua by lua/bundle.py; do not edit
-- session.get.v1: read a session, by the hash of its id. With `touch`, this is a use of the session, which does not end by idleness then.
-- `authz_ver` is that of the user: if the session has another, read the roles of the user again and update the session. `rotated`: the
-- session has a new id, which only the program that has rotated it knows; this one is valid for a while.
--
-- DATA   sessions prefix/hash {base}:s:     id
-- DATA   users    prefix/hash {base}:u:     label
-- DATA   config   hash        {base}:config
-- ARGV   hash      id
-- ARGV   touch     bool ?=1
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN ok        now_ms:int authz_ver:int session:pairs(session)
-- RETURN rotated   now_ms:int authz_ver:int session:pairs(session)
-- RETURN gone      now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   use
-- REPLAY idempotent
-- FLAGS  allow-oom
-- COST   4 commands, 6 if it writes when the session was used last; at most 8 commands, 110 steps

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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{session:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:session:[%w._@+-]+):config$') or string.match(KEYS[1], '^([%w._@+-]+:{session:[%w._@+-]+/[%w._@+-]+}):config$') or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:session:[%w._@+-]+/[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{session:<name>}:config, <prefix>:{<slot>}:session:<name>:config, <prefix>:{session:<name>/<tag>}:config, <prefix>:{<slot>}:session:<name>/<tag>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. '!use' then return refuse('key gate', KEYS[2], arg_base .. '!use') end
  KEYS = { arg_base .. ':s:', arg_base .. ':u:', arg_base .. ':config' }
end

local hash = ARGV[1]
if not hash or #hash > 200 or not arg_find(hash, '^[%w._:/@+-]+$') then
  return refuse('hash', hash, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local touch = ARGV[2]
if touch ~= '0' and touch ~= '1' and touch ~= '' then
  return refuse('touch', touch, '0 or 1')
end
touch = touch ~= '0'
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
local function open(clock, row) local config = KEYS[3]
  row = row or redis.call('HMGET', config, 'layout_min', 'clock')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text,  }
end

local sessions = KEYS[1]

local ctx, refused = open()
if refused then return refused end
local own, record, authz_ver, rotated = find_session(ctx, hash)
if not own then return { 'gone', ctx.now } end
if touch and ctx.now - own.active_ms > math.min(60000, own.idle_ms / 10) then
  redis.call('HSET', sessions .. own.hash, 'active_ms', ctx.now_text)
  keep_until_end(ctx, own.hash, ctx.now, own.idle_ms, tonumber(own.ends_ms))
  for i = 1, #record, 2 do
    if record[i] == 'active_ms' then record[i + 1] = ctx.now_text end
  end
end
return { rotated and 'rotated' or 'ok', ctx.now, authz_ver, record }
