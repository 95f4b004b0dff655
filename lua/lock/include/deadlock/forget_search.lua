-- forget_search(ctx, rid): drop a waiter from the searches. If no waiter is left, drop all, also the rest of a line.
local function forget_search(ctx, rid)
  ctx.waiting = ctx.waiting - 1
  if ctx.waiting == 0 then
    redis.call('UNLINK', unchecked)
  else
    redis.call('ZREM', unchecked, rid)
  end
end
