-- preempt_oldest(ctx, limit): another task of a full limit has come, and the oldest is to go for it: of those that run one that
-- nobody in line goes for already, or, where there is one for each, the first in line. It is cancelled by end_limited, for what
-- this claim does with it is not written yet.
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
