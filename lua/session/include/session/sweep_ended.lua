-- sweep_ended(ctx, limit): delete sessions whose lifetime is over, at most limit. Returns the number.
local function sweep_ended(ctx, limit)
  local hashes = redis.call('ZRANGE', all, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, limit)
  for _, hash in ipairs(hashes) do
    local user = redis.call('HGET', sessions .. hash, 'user')
    if user then redis.call('ZREM', by_user .. user, hash) end
    redis.call('UNLINK', sessions .. hash)
  end
  if #hashes > 0 then redis.call('ZREM', all, unpack(hashes)) end  -- at most 1,000: limit
  return #hashes
end
