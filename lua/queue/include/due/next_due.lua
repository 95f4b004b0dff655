-- next_due(ctx, set): see to what is due in a set, which is sorted by its times; the next time there, or MAX_SAFE. If more
-- is due than the call may do, that time is over, and the next call goes on.
local function next_due(ctx, set)
  local head = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
  if head[1] and tonumber(head[2]) <= ctx.now then
    move_due(ctx, set)
    head = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
  end
  return tonumber(head[2] or MAX_SAFE)
end
