-- end_deadlock(ctx, rid, request, circle): end a wait that is part of a cycle.
local function end_deadlock(ctx, rid, request, circle)
  end_request(ctx, rid, request, 'deadlock ' .. circle, 'lock.deadlock', ' cycle=' .. circle)
end
