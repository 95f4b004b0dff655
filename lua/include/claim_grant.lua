-- claim_grant(conf, rid, request): a waiter has seen that it was granted: from now on it has its full time.
local function claim_grant(conf, rid, request)
  request.state, request.deadline_ms = 'held', conf.now + tonumber(request.ttl_ms)
  write_request(conf, rid, request)
  set_deadline(conf, rid, request.deadline_ms)
  tell(conf, 'lock.acquired', rid, request, '')
end
