-- write.lua: write a task of an old layout, as its producers do, unless they write to pyadeq already (`cutover`). Then its
-- message goes into the escrow, as if a move had taken it, and the producer enqueues it. A repeated call writes nothing.
--
-- KEYS    about, messages, states, the place; reply: of this call, kept for 30 s; places: a hash; record: a hash of
--         the task; then up to 4 further places that get the same message
-- ARGV    message; entry: what `places` has of the place; key: of the task, see `sent`; for each place its kind, in the order of
--         the keys; then names and values of the record
-- RETURN  phase of the migration, run, number of the message in the escrow or -1
-- COST    5 commands and 2 for each place, one more in a mirror, 12 after a cutover; at most 16

-- The lists of the source `lists` have both ends of one kind: their workers take the newest task first.
local ADD = { right = 'LPUSH', left = 'LPUSH' }
local SIZE = { right = 'LLEN', left = 'LLEN', stream = 'XLEN', times = 'ZCARD', ms = 'ZCARD' }

local function answer(text)
  local phase, run, number = string.match(text, '^(%w*) (%w*) (%S+)$')
  return { phase, run, tonumber(number) }
end

local known = redis.call('GET', KEYS[5])
if known then return answer(known) end
local about = redis.call('HMGET', KEYS[1], 'phase', 'run')
local phase, places, number = about[1] or '', #KEYS - 6, -1
-- An error for a key of another type, before the first write: the producer would write the other keys again.
if #ARGV > places + 3 and phase ~= 'done' then redis.call('HLEN', KEYS[7]) end
if phase == 'cutover' then
  redis.call('HLEN', KEYS[2])
  number = redis.call('STRLEN', KEYS[3])
elseif phase ~= 'done' then
  for i = 1, places do redis.call(SIZE[ARGV[3 + i]], i == 1 and KEYS[4] or KEYS[6 + i]) end  -- at most 5: keys
end
if phase == 'cutover' then
  local entry = redis.call('HGET', KEYS[6], KEYS[4])
  if entry and entry ~= ARGV[2] then return redis.error_reply('OTHER ' .. entry) end
  if not entry then redis.call('HSET', KEYS[6], KEYS[4], ARGV[2]) end
end
if #ARGV > places + 3 and phase ~= 'done' then
  redis.call('HSET', KEYS[7], unpack(ARGV, places + 4, #ARGV))  -- at most 200: fields of a task
end
if phase == 'cutover' then
  local now = string.format('%.0f', redis.call('TIME')[1] * 1000)
  redis.call('HSET', KEYS[2], number, ARGV[1], number .. ' key', ARGV[3], number .. ' ms', now)
  redis.call('APPEND', KEYS[3], 'w')
elseif phase ~= 'done' then
  -- The list may have no job when a command looks, and so does not exist. Its copies must be found.
  if phase == 'mirror' or phase == 'shadow' then redis.call('HSETNX', KEYS[6], KEYS[4], ARGV[2]) end
  for i = 1, places do  -- at most 5: keys
    local key, kind = i == 1 and KEYS[4] or KEYS[6 + i], ARGV[3 + i]
    if ADD[kind] then redis.call(ADD[kind], key, ARGV[1]) else push(kind, key, ARGV[1]) end
  end
end
local text = string.format('%s %s %d', phase, about[2] or '', number)
redis.call('SET', KEYS[5], text, 'EX', 30)
return answer(text)
