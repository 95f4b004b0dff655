-- mend_holders(ctx, key): forget holders of a limit that have no lease, as an evicting server leaves them: one page of
-- 100 a minute. Tasks that this claim leases have no lease yet; their fences are above ctx.fence.
local function mend_holders(ctx, key)
  local upto = ctx.fence and string.format('%.0f', ctx.fence) or '+inf'
  local pages = math.max(1, math.ceil(redis.call('ZCOUNT', holding .. key, '-inf', upto) / 100))
  local from = math.floor(ctx.now / 60000) % pages * 100
  local ids = redis.call('ZRANGE', holding .. key, '-inf', upto, 'BYSCORE', 'LIMIT', from, 100)
  local deadlines_ms = ids[1] and redis.call('ZMSCORE', leases, unpack(ids)) or {}  -- at most 100: a page
  for i, id in ipairs(ids) do
    if not deadlines_ms[i] then redis.call('ZREM', holding .. key, id) end
  end
end
