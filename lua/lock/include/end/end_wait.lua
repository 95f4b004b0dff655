-- end_wait(ctx, rid, request): end a waiter whose time has come: its wait is over, or its client has stopped asking.
local function end_wait(ctx, rid, request)
  local outcome = ctx.now >= tonumber(request.until_ms) and 'timed_out' or 'abandoned'
  end_request(ctx, rid, request, outcome, 'lock.cancelled', ' reason=' .. outcome)
end
