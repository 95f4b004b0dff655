-- recall.lua: take messages that were put back (`kept`) out of their place again. In a list, only as far as they are the
-- first ones that a worker would take; what is between them in the escrow, but not in the list, was taken by a worker. Members
-- of a sorted set that a program of the old system may enqueue just now (`guard`) stay there, and are `kept` as before.
--
-- KEYS    about, messages, states, place, guard
-- ARGV    fence; kind: of the place; state: after this, `taken` or `held`; bytes: if the messages have more, the others
--         stay for the next call; then 1 to 200 numbers of kept messages, rising
-- RETURN  how many of the numbers are done; fewer than all means: call again with the rest. -1: the first message of the
--         list is none of those that are still kept
-- COST    3 + 6n commands, 8 + 5n for a sorted set, 5 + 11n for BullMQ, 6 + 7n and 2 for each entry that is passed for a stream;
--         at most 2,205 commands

local soon = is_set(ARGV[2]) and soon_until(ARGV[2], KEYS[5] ~= KEYS[4] and KEYS[5] or '')
redis.call('HSET', KEYS[1], 'taken_ms:' .. KEYS[4], string.format('%.0f', redis.call('TIME')[1] * 1000))
local size, at, last = 0, 5, math.min(#ARGV, 204)

local function is_kept(i)
  return redis.call('GETRANGE', KEYS[3], ARGV[i], ARGV[i]) == 'k'
end

while is_set(ARGV[2]) and at <= last do  -- at most 200: the numbers
  local score, member = string.match(redis.call('HGET', KEYS[2], ARGV[at]) or '', '^(%S+) (.*)$')
  if is_kept(at) and member then
    local there = redis.call('ZSCORE', KEYS[4], member) == score
    if not (there and soon and tonumber(score) <= soon) then
      if there then remove(ARGV[2], KEYS[4], member) end
      redis.call('SETRANGE', KEYS[3], ARGV[at], there and ARGV[3] or 'g')
    end
  end
  at = at + 1
end
while at <= last do  -- at most 200: the numbers
  if size >= tonumber(ARGV[4]) then return at - 5 end
  local message = top(ARGV[2], KEYS[4])
  if not message then return -1 end
  local digest, found = redis.sha1hex(message), nil
  for i = at, last do
    if is_kept(i) and redis.call('HGET', KEYS[2], ARGV[i]) == digest then
      found = i
      break
    end
  end
  if not found then return -1 end
  pop(ARGV[2], KEYS[4])
  redis.call('HSET', KEYS[2], ARGV[found], message)
  redis.call('SETRANGE', KEYS[3], ARGV[found], ARGV[3])
  for i = at, found - 1 do
    if is_kept(i) then
      redis.call('SETRANGE', KEYS[3], ARGV[i], 'g')
      redis.call('HDEL', KEYS[2], ARGV[i])
    end
  end
  size, at = size + #message, found + 1
end
return at - 5
