-- put_out(ctx, follow): put a task into the outbox. The change is kept until it is delivered.
local function put_out(ctx, follow)
  local name = follow.id .. ' ' .. follow.seq
  redis.call('ZADD', outbox, ctx.now_text, name)
  redis.call('HSET', follows, name, follow.text)
  redis.call('HINCRBY', change .. follow.id, 'undelivered', 1)
end
