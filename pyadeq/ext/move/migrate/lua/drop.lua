-- drop.lua: delete keys of the escrow.
--
-- KEYS    about; then 1 or 2 keys
-- ARGV    fence; of a place: its fields in `about`
-- RETURN  OK
-- COST    3 commands

redis.call('UNLINK', unpack(KEYS, 2, #KEYS))  -- at most 2: keys
if ARGV[2] then redis.call('HDEL', KEYS[1], unpack(ARGV, 2)) end  -- at most 2: fields
return redis.status_reply('OK')
