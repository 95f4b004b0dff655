-- leave_order(ctx, id, key): take a task that has ended out of the line of its ordering key. If it was the first, the turn of
-- the next one has come, which propagate_ends tells it.
local function leave_order(ctx, id, key)
  local first = redis.call('ZRANGE', order .. key, 0, 1, 'WITHSCORES')
  redis.call('ZREM', order .. key, id)
  if first[1] == id and first[3] then note_end(ctx, 'o', id, first[3] .. ' ' .. first[4]) end
end
