-- set_deadline(ctx, rid, deadline_ms): when a live request ends by itself. ctx.due is not after any of these.
local function set_deadline(ctx, rid, deadline_ms)
  redis.call('ZADD', deadlines, deadline_ms, rid)
  ctx.due = math.min(ctx.due, deadline_ms)
end
