-- mark.lua: write the states of messages in the escrow.
--
-- KEYS    about, states
-- ARGV    fence; first: the number of the first message; states: one letter for each
-- RETURN  OK
-- COST    2 commands

redis.call('SETRANGE', KEYS[2], ARGV[2], ARGV[3])
return redis.status_reply('OK')
