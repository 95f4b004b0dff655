-- decide(conf, rid, parts): what a request for these locks is answered, be it new or known: the status, what goes with
-- it, and the request itself if it lives.
-- LATE
local function decide(conf, rid, parts)
  catch_up(conf, { rid })
  if record_of(conf, rid) then return recall(conf, rid) end
  if math.abs(conf.now - issued_ms) > WAIT_issued_ms then return 'request_expired' end
  local request = new_request(conf, parts)
  local status, detail = admit(conf, rid, request)
  return status, detail, request
end
