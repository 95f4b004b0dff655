-- mark.lua: write the states of messages in the escrow.
--
-- KEYS    about, states
-- ARGV    fence; first: the number of the first message; states: one letter for each
-- RETURN  OK
-- COST    3 commands

if redis.call('STRLEN', KEYS[2]) < ARGV[2] + #ARGV[3] then return redis.error_reply(OLDER) end
redis.call('SETRANGE', KEYS[2], ARGV[2], ARGV[3])
return redis.status_reply('OK')
