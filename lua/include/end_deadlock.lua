-- end_deadlock(conf, rid, request, circle): end a wait that is part of a circle.
local function end_deadlock(conf, rid, request, circle)
  end_request(conf, rid, request, 'deadlock ' .. circle, 'lock.deadlock', ' cycle=' .. circle)
end
