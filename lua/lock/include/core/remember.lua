-- remember(ctx, rid, outcome): store for two minutes how a request ended, so that a repeated call cannot acquire again.
-- In `deadlines`, ended requests have negative scores, and live requests positive ones.
local function remember(ctx, rid, outcome)
  set_record(ctx, rid, 'ended ' .. outcome)
  redis.call('ZADD', deadlines, ctx.now + WAIT_ended_ms - 1e15, rid)
  ctx.due = math.min(ctx.due, ctx.now + 121000)
end
