-- set_deadline(ctx, rid, deadline_ms): store when a live request expires. ctx.due becomes the earliest such time.
local function set_deadline(ctx, rid, deadline_ms)
  redis.call('ZADD', deadlines, deadline_ms, rid)
  ctx.due = math.min(ctx.due, deadline_ms)
end
