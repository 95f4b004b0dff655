-- written.lua: note that a producer has enqueued a message that `write` put into the escrow.
--
-- KEYS    states
-- ARGV    number: of the message
-- RETURN  OK
-- COST    2 commands

if redis.call('GETRANGE', KEYS[1], ARGV[1], ARGV[1]) == 'w' then redis.call('SETRANGE', KEYS[1], ARGV[1], 'm') end
return redis.status_reply('OK')
