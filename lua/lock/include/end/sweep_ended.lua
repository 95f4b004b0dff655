-- sweep_ended(ctx, limit): delete outcomes after two minutes, and unused rate entries; at most 100 × limit (1,000) of
-- each. Returns the time of the next sweep.
local function sweep_ended(ctx, limit)
  local most = math.min(1000, 100 * limit)
  local rids = redis.call('ZRANGE', deadlines, '-inf', ctx.now - 1e15, 'BYSCORE', 'LIMIT', 0, most)
  if #rids > 0 then
    -- at most 1,000: most
    redis.call('ZREM', deadlines, unpack(rids))
    redis.call('HDEL', requests, unpack(rids))
  end
  local idle = redis.call('ZRANGE', rates, '-inf', ctx.now * 1000, 'BYSCORE', 'LIMIT', 0, most)
  if #idle > 0 then redis.call('ZREM', rates, unpack(idle)) end  -- at most 1,000: most
  if #rids == most or #idle == most then return ctx.now end
  local oldest = redis.call('ZRANGE', deadlines, 0, 0, 'WITHSCORES')[2]
  if oldest and tonumber(oldest) < 0 then return math.max(oldest + 1e15, ctx.now) + 1000 end
  return redis.call('EXISTS', rates) == 1 and ctx.now + 60000 or MAX_SAFE
end
