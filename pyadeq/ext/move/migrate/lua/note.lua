-- note.lua: remember facts about the migration.
--
-- KEYS    about
-- ARGV    fence; then names and values
-- RETURN  OK
-- COST    2 commands

redis.call('HSET', KEYS[1], unpack(ARGV, 2, #ARGV))  -- at most 4: two facts
return redis.status_reply('OK')
