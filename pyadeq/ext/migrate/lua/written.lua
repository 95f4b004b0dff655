-- written.lua: note that a producer has enqueued a message that `write` put into the escrow, or that it was refused.
--
-- KEYS    states
-- ARGV    number: of the message; state: after this
-- RETURN  state before this
-- COST    2 commands

local now = redis.call('GETRANGE', KEYS[1], ARGV[1], ARGV[1])
if now == 'w' then redis.call('SETRANGE', KEYS[1], ARGV[1], ARGV[2]) end
return now
