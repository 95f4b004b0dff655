-- order_on_end(ctx, id, own): take the task out of the line of its ordering key. If it was the first, it is the turn of the
-- next one. propagate_ends tells it.
-- READS ordering_key
-- WHEN own.ordering_key
local function order_on_end(ctx, id, own)
  local line = order .. own.ordering_key
  local first = redis.call('ZRANGE', line, 0, 1, 'WITHSCORES')
  redis.call('ZREM', line, id)
  if first[1] == id and first[3] then note_end(ctx, 'o', id, first[3] .. ' ' .. first[4]) end
end
