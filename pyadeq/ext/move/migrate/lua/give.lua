-- give.lua: put messages of the escrow back where the old workers take them, the last one first: then they take them
-- in the old order. A stream gets them at its end, so there the first one comes first. Messages whose state is neither
-- `held` nor `rollback` are left out, so a repeated call changes nothing more. Of a message that is put back only until
-- the next `recall`, the escrow keeps the digest, unless it is in a sorted set.
--
-- KEYS    about, messages, states, place
-- ARGV    fence; kind: of the place; state: after this; bytes: if the messages have more, the others stay; then 1 to 200 numbers of
--         messages, falling, or rising for a stream
-- RETURN  how many of the numbers are done
-- COST    1 + 5n commands, 1 + 12n for BullMQ; at most 2,401 commands

local size, state, done = 0, ARGV[3], 0
for i = 5, math.min(#ARGV, 204) do
  if size >= tonumber(ARGV[4]) then break end
  local now = redis.call('GETRANGE', KEYS[3], ARGV[i], ARGV[i])
  if now == 'h' or now == 'r' then
    local message = redis.call('HGET', KEYS[2], ARGV[i])
    size = size + #message
    push(ARGV[2], KEYS[4], message)
    if state == 'k' and not is_set(ARGV[2]) then redis.call('HSET', KEYS[2], ARGV[i], redis.sha1hex(message)) end
    redis.call('SETRANGE', KEYS[3], ARGV[i], state)
  end
  done = done + 1
end
return done
