-- forget_removed(ctx, limit): delete what is left of names that were removed long ago, or of the oldest if there are more than `names_max`;
-- at most limit. Returns the number. Who has read an older rev has to read all again.
local function forget_removed(ctx, limit)
  local names = oldest_beyond(ctx, removed, ctx.settings.removed_ms, ctx.settings.names_max, limit)
  if #names == 0 then return 0 end
  local newest = 0
  for _, name in ipairs(names) do
    newest = math.max(newest, tonumber(redis.call('ZSCORE', changed, name) or 0))
    redis.call('UNLINK', value .. name, history .. name)
  end
  redis.call('ZREM', changed, unpack(names))  -- at most 1,000: limit
  redis.call('ZREM', removed, unpack(names))
  redis.call('ZREMRANGEBYSCORE', revs, '-inf', string.format('(%.0f', newest))
  return #names
end
