-- take.lua: move messages from their place into the escrow, first those that the old workers would take first. If the
-- escrow already has messages that the caller does not know, return these and take none: so a repeated call gets
-- the same answer, and whoever continues after a kill gets what was left.
--
-- KEYS    about, messages: by their number, a hash; states: one letter for each, a string; place; guard
-- ARGV    fence; kind: of the place; known: how many messages of the place the caller knows; most: messages, 1 to 200; bytes: if the
--         messages have more, no further one is taken
-- RETURN  1 if this call has taken them, else 0; then the messages, first the one that a worker would have taken first. 2: this
--         call has only passed entries that stay in the stream; call again
-- COST    8 + n commands, 13 + 2n for a sorted set, 11 + 5n for BullMQ, 11 + 2n and 2 for each entry that is passed for a stream;
--         at most 1,011 commands

local known, most, bytes = tonumber(ARGV[3]), math.min(tonumber(ARGV[4]), 200), tonumber(ARGV[5])
local count = redis.call('STRLEN', KEYS[3])
if count < known then return redis.error_reply(OLDER) end
if count > known then
  local names = {}
  for i = known, math.min(count, known + most) - 1 do names[#names + 1] = i end
  return { 0, unpack(redis.call('HMGET', KEYS[2], unpack(names))) }  -- at most 200: most
end
redis.call('HLEN', KEYS[2])  -- an error for a key of another type, while all messages are still in their place
local taken, pairs_, size = {}, {}, 0
while #taken < most and size < bytes do  -- at most 200: most
  local message = pop(ARGV[2], KEYS[4], KEYS[5])
  if not message then break end
  taken[#taken + 1], size = message, size + #message
  pairs_[#pairs_ + 1], pairs_[#pairs_ + 2] = count + #taken - 1, message
end
if #taken == 0 then return { passed == MOST_PASSED and 2 or 1 } end
redis.call('HSET', KEYS[2], unpack(pairs_))  -- at most 400: two for each message
redis.call('APPEND', KEYS[3], string.rep('t', #taken))
redis.call('HSET', KEYS[1], 'taken_ms:' .. KEYS[4], string.format('%.0f', redis.call('TIME')[1] * 1000))
return { 1, unpack(taken) }  -- at most 200: most
