-- join_line(ctx, rid, request): let a request wait at its place.
local function join_line(ctx, rid, request)
  request.state = 'waits'
  link_request(ctx, rid, request)
  write_request(ctx, rid, request)
  set_deadline(ctx, rid, math.min(request.until_ms, ctx.now + ctx.waiter_ms))
  ctx.waiting = ctx.waiting + 1
  if request.unchecked then redis.call('ZADD', unchecked, ctx.now, rid) end
  emit_lock_event(ctx, 'lock.queued', rid, request, '')
end
