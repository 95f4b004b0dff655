-- hand_over(ctx, rid, request): make a waiter a holder. It has a short time to claim the grant. Those behind it may
-- follow in each of its lines, unless it has the resource alone.
local function hand_over(ctx, rid, request)
  read_rules(ctx)
  redis.call('ZREM', graph, unpack(members_of(rid, request)))  -- at most 65: members of a request
  forget_search(ctx, rid)
  grant(ctx, rid, request, 'granted', ctx.now + ctx.claim_ms)
  emit_lock_event(ctx, 'lock.promoted', rid, request, '')
  for i, part in ipairs(request.parts) do
    if part.code ~= 'x' and (i > 1 or request.parts[2]) then note_line(ctx, part.resource, part.code == 's') end
  end
end
