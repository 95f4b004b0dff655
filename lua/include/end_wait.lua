-- end_wait(conf, rid, request): end a waiter whose time has come: its wait is over, or nobody has asked for it.
local function end_wait(conf, rid, request)
  local outcome = conf.now >= tonumber(request.until_ms) and 'timed_out' or 'abandoned'
  end_request(conf, rid, request, outcome, 'lock.cancelled', ' reason=' .. outcome)
end
