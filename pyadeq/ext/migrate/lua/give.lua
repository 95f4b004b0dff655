-- give.lua: put messages of the escrow back at the right end of their list, the last one first: then the old workers
-- take them in the old order. Messages whose state is neither `held` nor `rollback` are left out, so a repeated call
-- changes nothing more. Of a message that the list only gets until the next `recall`, the escrow keeps the digest.
--
-- KEYS    about, messages, states, place
-- ARGV    fence; state: after this; bytes: if the messages have more, the others stay; then 1 to 200 numbers of
--         messages, falling
-- RETURN  how many of the numbers are done
-- COST    2 + 5n commands; at most 1,002 commands

local size, state, done = 0, ARGV[2], 0
for i = 4, math.min(#ARGV, 203) do
  if size >= tonumber(ARGV[3]) then break end
  local now = redis.call('GETRANGE', KEYS[3], ARGV[i], ARGV[i])
  if now == 'h' or now == 'r' then
    local message = redis.call('HGET', KEYS[2], ARGV[i])
    size = size + #message
    redis.call('RPUSH', KEYS[4], message)
    if state == 'k' then redis.call('HSET', KEYS[2], ARGV[i], redis.sha1hex(message)) end
    redis.call('SETRANGE', KEYS[3], ARGV[i], state)
  end
  done = done + 1
end
return done
