-- oldest_beyond(ctx, set, keep_ms, max, limit): the oldest members of a set, which is sorted by times (ms), beyond an age (nil: none) and
-- a number, at most limit: their ids and their times, in lists.
local function oldest_beyond(ctx, set, keep_ms, max, limit)
  local found, excess = {}, math.min(redis.call('ZCARD', set) - max, limit)
  if keep_ms then
    found = redis.call('ZRANGE', set, '-inf', ctx.now - keep_ms, 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
  end
  if 2 * excess > #found then found = redis.call('ZRANGE', set, 0, excess - 1, 'WITHSCORES') end
  local ids, since = {}, {}
  for i = 1, #found / 2 do ids[i], since[i] = found[2 * i - 1], tonumber(found[2 * i]) end
  return ids, since
end
