-- preempt_oldest(ctx, limit): choose which task a new task of a full limit replaces: the oldest running task that no
-- waiting task replaces already, or else the first waiting task. on_claimed cancels it, because this claim has not
-- written its own leases yet.
local function preempt_oldest(ctx, limit)
  local lined = redis.call('ZCARD', waiting .. limit.key)
  if lined < limit.most then
    local oldest = redis.call('ZRANGE', holding .. limit.key, lined, lined)[1]
    ctx.victims[#ctx.victims + 1] = oldest
    return
  end
  for _ = 1, 100 do
    local first = redis.call('ZPOPMIN', waiting .. limit.key)
    if not first[1] then return end
    if redis.call('ZSCORE', blocked, first[1]) == first[2] then
      ctx.victims[#ctx.victims + 1] = first[1]
      return
    end
  end
end
