-- next_due(ctx, set): do what is due in a set, which is sorted by times (ms); the next time there, or MAX_SAFE. The noun has an
-- include move_due(ctx, set), which does a bounded part of it. If more is due, that time is over, and the next call goes on.
local function next_due(ctx, set)
  local head = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
  if head[1] and tonumber(head[2]) <= ctx.now then
    move_due(ctx, set)
    head = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
  end
  return tonumber(head[2] or MAX_SAFE)
end
