-- claim_grant(ctx, rid, request): the client has polled: start the full lease.
local function claim_grant(ctx, rid, request)
  request.state, request.deadline_ms = 'held', ctx.now + tonumber(request.ttl_ms)
  write_request(ctx, rid, request)
  set_deadline(ctx, rid, request.deadline_ms)
  emit_lock_event(ctx, 'lock.acquired', rid, request, '')
end
