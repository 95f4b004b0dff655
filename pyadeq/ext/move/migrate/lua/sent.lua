-- sent.lua: note the keys of tasks that are about to be enqueued. By its key, pyadeq knows for some time that it had a task, also
-- if the task has ended and was deleted, or if its job on the old server has changed since.
--
-- KEYS    about, messages
-- ARGV    fence; then 1 to 100 numbers of messages, each with the key of its task
-- RETURN  OK
-- COST    2 commands

local fields = {}
for i = 2, math.min(#ARGV, 201), 2 do  -- at most 100: messages
  fields[i - 1], fields[i] = ARGV[i] .. ' key', ARGV[i + 1]
end
redis.call('HSET', KEYS[2], unpack(fields))  -- at most 200: two for each message
return redis.status_reply('OK')
