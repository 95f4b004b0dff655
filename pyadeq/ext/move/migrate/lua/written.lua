-- written.lua: note that a producer has enqueued a message that `write` put into the escrow, or that it was refused.
--
-- KEYS    about, states
-- ARGV    number: of the message; state: after this; run: of the migration in which it was written
-- RETURN  state before this, '' if another run has begun since: then the number is that of another message
-- COST    3 commands

if redis.call('HGET', KEYS[1], 'run') ~= ARGV[3] then return '' end
local now = redis.call('GETRANGE', KEYS[2], ARGV[1], ARGV[1])
if now == 'w' then redis.call('SETRANGE', KEYS[2], ARGV[1], ARGV[2]) end
return now
