-- read_notes(ctx, limit): the oldest notes that are stored, with their times, at most limit, and whether there are any. If
-- so, those of this call are stored, too, to get their turn. As a rule there are none: the notes of a call are carried
-- out without being stored.
local function read_notes(ctx, limit)
  local stored = redis.call('ZRANGE', ends, 0, limit - 1, 'WITHSCORES')
  if stored[1] and ctx.notes then
    store_notes(ctx)
    stored = redis.call('ZRANGE', ends, 0, limit - 1, 'WITHSCORES')
  end
  return stored, stored[1] ~= nil
end
