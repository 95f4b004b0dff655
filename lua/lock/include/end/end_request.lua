-- end_request(ctx, rid, request, outcome, event, detail): remove a request from `graph`, free its permits, store its
-- outcome, and note which waiters may now be granted.
-- LATE
local function end_request(ctx, rid, request, outcome, event, detail)
  redis.call('ZREM', graph, unpack(members_of(rid, request)))  -- at most 65: members of a request
  remember(ctx, rid, outcome)
  if request.order ~= '-' then
    forget_search(ctx, rid)
  end
  note_freed(ctx, request)
  for _, part in ipairs(request.parts) do
    if request.order == '-' and permits_of(part.code) then use_permits(ctx, part, -1) end
  end
  emit_lock_event(ctx, event, rid, request, detail)
end
