-- join_gathering(ctx, id, parent): if the parent waits for its children, note that this child counts, and the place of
-- the parent, because a later task may have the same id.
local function join_gathering(ctx, id, parent)
  local score = redis.call('ZSCORE', blocked, parent)
  local own = score and redis.call('HMGET', task .. parent, 'gather', 'limited_by') or {}
  if own[1] and not own[2] then
    redis.call('HSET', task .. id, 'gathered', string.format('%.0f', score % BAND), 'ties', '1')
  end
end
