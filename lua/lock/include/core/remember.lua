-- remember(ctx, rid, outcome): keep for two minutes how a request ended: one that has ended never holds again. In
-- `deadlines` those stand below zero, apart from the live.
local function remember(ctx, rid, outcome)
  set_record(ctx, rid, 'ended ' .. outcome)
  redis.call('ZADD', deadlines, ctx.now + WAIT_ended_ms - 1e15, rid)
  ctx.due = math.min(ctx.due, ctx.now + 121000)
end
