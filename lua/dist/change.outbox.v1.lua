#!lua flags=allow-oom
-- generated from lua/change/outbox.v1.lua by lua/bundle.py; do not edit
-- change.outbox.v1: the tasks that follow steps of changes and are not in the queue `queue` yet. The call first removes those that were
-- delivered, then answers what is due, and hides it for 30 s. Enqueue each under its `task_id`, and with the payload that lua/README.md says;
-- `exists` is as good as `created`. Then send outbox again with what was delivered. A task that comes twice does no harm while the queue
-- remembers its id. `random`: a random text. The id of a task that is handed out for the first time is made of it, so that nobody else can
-- take the id before. Without it, the id is `<domain>/<id>/<seq>`, which anybody can guess.
--
-- DATA   change  prefix/hash {base}:change: name
-- DATA   outbox  zset        {base}:outbox
-- DATA   follows hash        {base}:follows
-- DATA   config  hash        {base}:config
-- ARGV   random   id            ?=
-- ARGV   limit    int 0..100    ?=100
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- ITEM   id       name
-- ITEM   seq      int 1..9000000000000
-- GROUP  item     0..100
-- RETURN ok       now_ms:int queue:text left:int items:list(item)
-- EACH   item     follow id:id seq:int task_id:id event:text rev:int digest:text kind:label lane:lane priority:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   apply
-- REPLAY goes_on
-- FLAGS  allow-oom
-- COST   3 + 6n commands; at most 1,000 commands, 3,000 steps

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
  local arg_base = string.match(KEYS[1], '^([%w._@+-]+:{change:[%w._@+-]+}):config$')
  if not arg_base or #arg_base > 100 then
    arg_base = arg_base or string.match(KEYS[1], '^([%w._@+-]+:{[%w._@+-]+}:change:[%w._@+-]+):config$')
    for part in string.gmatch(arg_base or '', '[%w._@+-]+') do
      if #part > 100 then arg_base = nil end
    end
    if not arg_base then return refuse('key config', KEYS[1], '<prefix>:{change:<name>}:config, <prefix>:{<slot>}:change:<name>:config, where each part is a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -') end
  end
  if KEYS[2] ~= arg_base .. '!apply' then return refuse('key gate', KEYS[2], arg_base .. '!apply') end
  KEYS = { arg_base .. ':change:', arg_base .. ':outbox', arg_base .. ':follows', arg_base .. ':config' }
end

local random = ARGV[1]
if random ~= '' and (not random or #random > 200 or not arg_find(random, '^[%w._:/@+-]+$')) then
  return refuse('random', random, 'an id: 1 to 200 of A-Z a-z 0-9 . _ : / @ + -')
end
local limit = ARGV[2]
if limit == '' then
  limit = 100
else
  limit = arg_uint(limit, 0, 100)
  if not limit then return refuse('limit', ARGV[2], 'an integer from 0 to 100') end
end
local now_ms = ARGV[3]
if now_ms == '' then
  now_ms = 0
else
  now_ms = arg_uint(now_ms, 0, 9000000000000)
  if not now_ms then return refuse('now_ms', ARGV[3], 'an integer from 0 to 9000000000000') end
end
local arg_at = 4
local item_count = ARGV[arg_at]
item_count = arg_uint(item_count, 0, 100)
if not item_count then return refuse('item_count', ARGV[arg_at], 'an integer from 0 to 100') end
arg_at = arg_at + 1
local item_id, item_seq = arg_empty, arg_empty
if item_count > 0 then item_id, item_seq = {}, {} end
for i = 1, item_count do
  local v = ARGV[arg_at]
  if not v or #v > 100 or not arg_find(v, '^[%w._@+-]+$') then
    return refuse('item[' .. i .. '].id', v, 'a name: 1 to 100 of A-Z a-z 0-9 . _ @ + -')
  end
  item_id[i] = v
  v = ARGV[arg_at + 1]
  v = arg_uint(v, 1, 9000000000000)
  if not v then return refuse('item[' .. i .. '].seq', ARGV[arg_at + 1], 'an integer from 1 to 9000000000000') end
  item_seq[i] = v
  arg_at = arg_at + 2
end
if #ARGV ~= arg_at - 1 then
  return redis.error_reply('ADEQ_ARG expected ' .. (arg_at - 1) .. ' arguments, got ' .. #ARGV)
end

-- domain_name(): the name of the domain, from its keys.
local function domain_name() local config = KEYS[4]
  return string.match(config, '^.*[:{]([^:{}]+)}?:config$')
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
  row = row or redis.call('HMGET', config, 'layout_min', 'clock', 'follow_queue')
  local now, now_text = read_clock(row[1], row[2], clock)
  if not now then return nil, now_text end
  return { exists = row[1], now = now, now_text = now_text, settings_follow_queue = row[3] }
end

local change, outbox, follows = KEYS[1], KEYS[2], KEYS[3]

local ctx, refused = open()
if refused then return refused end
for i, id in ipairs(item_id) do
  local name = id .. ' ' .. string.format('%.0f', item_seq[i])
  if redis.call('HDEL', follows, name) == 1 then
    redis.call('ZREM', outbox, name)
    redis.call('HINCRBY', change .. id, 'undelivered', -1)
    local own = redis.call('HGET', follows, name .. ' id')
    if own then
      redis.call('HDEL', follows, name .. ' id')
      note_task(id, string.format('%.0f', item_seq[i]) .. '/' .. own)
    end
  end
end
local domain, items = domain_name(), {}
for _, name in ipairs(redis.call('ZRANGE', outbox, '-inf', ctx.now_text, 'BYSCORE', 'LIMIT', 0, limit)) do
  local id, seq = string.match(name, '^(%S+) (%d+)$')
  local row = redis.call('HMGET', follows, name, name .. ' id')
  local word, rev, digest, kind, lane, priority = string.match(row[1] or '', '^(%S+) (%d+) (%S+) (%S+) (%S+) (%d)$')
  if word then
    local own = row[2]
    if not own and random ~= '' then
      own = string.sub(redis.sha1hex(random .. ' ' .. name), 1, 20)
      redis.call('HSET', follows, name .. ' id', own)
    end
    local task_id = domain .. '/' .. id .. '/' .. seq .. (own and '/' .. own or '')
    items[#items + 1] = { 'follow', id, tonumber(seq), task_id, word, tonumber(rev), digest, kind, lane, tonumber(priority) }
    redis.call('ZADD', outbox, ctx.now + 30000, name)
  else
    redis.call('ZREM', outbox, name)
  end
end
local line = ctx.settings_follow_queue
return { 'ok', ctx.now, line and line ~= 'none' and line or '', redis.call('ZCARD', outbox), items }
