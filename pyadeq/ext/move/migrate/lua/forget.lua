-- forget.lua: note that messages that were put back (`kept`) have been taken again, by another number.
--
-- KEYS    about, messages, states
-- ARGV    fence; then 1 to 100 numbers of messages
-- RETURN  OK
-- COST    2 + 2n commands; at most 202 commands

for i = 2, math.min(#ARGV, 101) do  -- at most 100: messages
  if redis.call('GETRANGE', KEYS[3], ARGV[i], ARGV[i]) == 'k' then redis.call('SETRANGE', KEYS[3], ARGV[i], 'g') end
end
redis.call('HDEL', KEYS[2], unpack(ARGV, 2, math.min(#ARGV, 101)))  -- at most 100: messages
return redis.status_reply('OK')
