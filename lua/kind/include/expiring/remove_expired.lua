-- remove_expired(ctx, limit): delete kinds that nobody has published for long, at most `limit`, 1,000 or less. Returns
-- how many.
local function remove_expired(ctx, limit)
  local ids = redis.call('ZRANGE', expiring, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, limit)
  for _, id in ipairs(ids) do
    redis.call('DEL', kind .. id)
    emit(ctx, 'kind.expired', id, '')
  end
  if #ids > 0 then redis.call('ZREM', expiring, unpack(ids)) end  -- at most 1,000: limit
  return #ids
end
