-- written.lua: note that a producer has enqueued a message that `write` put into the escrow, or that it was refused.
--
-- KEYS    states
-- ARGV    number: of the message; state: after this
-- RETURN  OK
-- COST    2 commands

if redis.call('GETRANGE', KEYS[1], ARGV[1], ARGV[1]) == 'w' then redis.call('SETRANGE', KEYS[1], ARGV[1], ARGV[2]) end
return redis.status_reply('OK')
