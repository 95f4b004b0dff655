#!lua
-- generated from lua/session/update.v1.lua by lua/bundle.py; do not edit
-- session.update.v1: change fields of a session, if it still has the `ver` that the caller has read. A session that has ended stays so.
-- `rotated`: an older id may only read.
--
-- DATA   sessions prefix/hash {base}:s:       id
-- DATA   users    prefix/hash {base}:u:       label
-- DATA   config   hash        {base}:config
-- DATA   once     hash        {base}:once
-- DATA   once_due zset        {base}:once:due
-- ARGV   rid         id
-- ARGV   source      bytes 0..200     ?=
-- ARGV   trace       bytes 0..128     ?=
-- ARGV   now_ms      int 0..9000000000000 ?=0
-- ITEM   hash        id
-- ITEM   ver         int 1..9007199254740991
-- PAIR   name        bytes 0..200
-- PAIR   roles       labels 0..64
-- PAIR   permissions labels 0..256
-- PAIR   address     bytes 0..100
-- PAIR   agent       bytes 0..512
-- PAIR   data        bytes 0..16384
-- PAIR   authz_ver   int 0..9007199254740991
-- GROUP  item      1..1
-- RETURN ok        now_ms:int ver:int
-- RETURN changed   now_ms:int ver:int
-- RETURN rotated   now_ms:int
-- RETURN gone      now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   use
-- REPLAY rid
-- COST   8 commands; at most 9 commands, 1,800 steps

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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{session:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:session:[%w._@+-]+):config$') or string.match(KEYS[1], '^([%w._@+-]+:{session:[%w._@+-]+/[%w._@+-]+}):config$') or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:session:[%w._@+-]+/[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{session:<name>}:config, <prefix>:{<slot>}:session:<name>:config, <prefix>:{session:<name>/<tag>}:config, <prefix>:{<slot>}:session:<name>/<tag>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. '!use' then return refuse('key gate', KEYS[2], arg_base .. '!use') end
  KEYS = { arg_base .. ':s:', arg_base .. ':u:', arg_base .. ':config', arg_base .. ':once', arg_base .. ':once:due' }
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
item_count = arg_uint(item_count, 1, 1)
if not item_count then return refuse('item_count', ARGV[arg_at], 'an integer from 1 to 1') end
arg_at = arg_at + 1
local item_hash, item_ver, item_pairs = {}, {}, {}
local arg_seen_item, arg_label, arg_ids
for i = 1, item_count do
  local v = ARGV[arg_at]
  if not v or #v > 200 or not arg_find(v, '^[%w._:/@+-]+$') then
    return refuse('item[' .. i .. '].hash', v, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
  end
  item_hash[i] = v
  v = ARGV[arg_at + 1]
  v = arg_uint(v, 1, 9007199254740991)
  if not v then return refuse('item[' .. i .. '].ver', ARGV[arg_at + 1], 'an integer from 1 to 9007199254740991') end
  item_ver[i] = v
  arg_at = arg_at + 2
  local size, entry = ARGV[arg_at], arg_empty
  arg_at = arg_at + 1
  if size ~= '0' then
    size = size and #size == 1 and arg_find('1234567', size, 1, true) or arg_uint(size, 0, 7)
    if not size then return refuse('item[' .. i .. '].pairs', ARGV[arg_at - 1], 'an integer from 0 to 7') end
    if not arg_seen_item then
      arg_seen_item = {}
      function arg_label(v)
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
      function arg_ids(v, min, max, is_label)
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
    end
    local filled = 0
    for at = arg_at, arg_at + 2 * size - 2, 2 do
      local name, raw = ARGV[at], ARGV[at + 1]
      local v = raw
      if name == 'name' then
        if not v or #v > 200 then
          return refuse('item[' .. i .. '].name', v and #v, '0 to 200 bytes long')
        end
      elseif name == 'roles' then
        v = arg_ids(v, 0, 64, arg_label)
        if not v then return refuse('item[' .. i .. '].roles', raw, '0 to 64 labels with commas between them') end
      elseif name == 'permissions' then
        v = arg_ids(v, 0, 256, arg_label)
        if not v then return refuse('item[' .. i .. '].permissions', raw, '0 to 256 labels with commas between them') end
      elseif name == 'address' then
        if not v or #v > 100 then
          return refuse('item[' .. i .. '].address', v and #v, '0 to 100 bytes long')
        end
      elseif name == 'agent' then
        if not v or #v > 512 then
          return refuse('item[' .. i .. '].agent', v and #v, '0 to 512 bytes long')
        end
      elseif name == 'data' then
        if not v or #v > 16384 then
          return refuse('item[' .. i .. '].data', v and #v, '0 to 16384 bytes long')
        end
      elseif name == 'authz_ver' then
        v = arg_uint(v, 0, 9007199254740991)
        if not v then return refuse('item[' .. i .. '].authz_ver', raw, 'an integer from 0 to 9007199254740991') end
      else
        return refuse('item[' .. i .. '].pairs', name, 'names from name, roles, permissions, address, agent, data, authz_ver')
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

local arg_rare

-- hold_once(ctx, field, id, keep_ms, stamp): make a key of `once` refer to a task, for keep_ms or, without keep_ms,
-- until it is released. stamp: that of the enqueue that made the task, if its record does not know the key; the key no
-- longer counts once that was purged.
local function hold_once(ctx, field, id, keep_ms, stamp) local once, once_due = KEYS[4], KEYS[5]
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
local function sweep_once(ctx, limit) local once, once_due = KEYS[4], KEYS[5]
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
local function done_before(ctx, verb) local once = KEYS[4]
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
local function open(clock, row) local config = KEYS[3]
  row = row or redis.call('HMGET', config, 'layout_min', 'clock')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text,  }
end

local arg_made
function arg_rare()
  if arg_made then return arg_made end

-- create_base(clock): store the layout and the clock of a new base. The clock is `test` or `server` (the default).
local function create_base(clock) local config = KEYS[3]
  redis.call('HSET', config, 'layout', 1, 'layout_min', 1, 'clock', clock == 'test' and 'test' or 'server')
end

  arg_made = { create_base = create_base }
  return arg_made
end

local sessions = KEYS[1]

local ctx, refused = open()
if refused then return refused end
local before = concluded_before(ctx, 'update')
if before then return before end
local own, _, _, rotated = find_session(ctx, item_hash[1])
if not own then return conclude(ctx, 'update', 'gone', {}) end
if rotated then return conclude(ctx, 'update', 'rotated', {}) end
if tonumber(own.ver) ~= item_ver[1] then return conclude(ctx, 'update', 'changed', { tonumber(own.ver) }) end
local changes = item_pairs[1]
changes[#changes + 1] = 'ver'
changes[#changes + 1] = string.format('%.0f', item_ver[1] + 1)
redis.call('HSET', sessions .. own.hash, unpack(changes))  -- at most 16: names and values
return conclude(ctx, 'update', 'ok', { item_ver[1] + 1 })
