-- order_on_end(ctx, id, own): remove the task from the queue of its ordering key. If it was the first, write a note,
-- and propagate_ends unblocks the next task.
-- READS ordering_key
-- WHEN own.ordering_key
local function order_on_end(ctx, id, own)
  local line = order .. own.ordering_key
  local first = redis.call('ZRANGE', line, 0, 1, 'WITHSCORES')
  redis.call('ZREM', line, id)
  if first[1] == id and first[3] then note_end(ctx, 'o', id, first[3] .. ' ' .. first[4]) end
end
