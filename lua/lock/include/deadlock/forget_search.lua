-- forget_search(ctx, rid): one that waited is not to be searched for any more. Where nobody waits there is nothing to
-- look at, the rest of a line neither.
local function forget_search(ctx, rid)
  ctx.waiting = ctx.waiting - 1
  if ctx.waiting == 0 then
    redis.call('UNLINK', unchecked)
  else
    redis.call('ZREM', unchecked, rid)
  end
end
