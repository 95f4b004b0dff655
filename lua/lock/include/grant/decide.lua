-- decide(ctx, rid, parts): the answer to a request for these locks, new or known: the status, its details, and the
-- request itself if it lives.
-- LATE
local function decide(ctx, rid, parts)
  catch_up(ctx, { rid })
  if record_of(ctx, rid) then return replayed_answer(ctx, rid) end
  if math.abs(ctx.now - issued_ms) > WAIT_issued_ms then return 'request_expired' end
  local request = new_request(ctx, parts)
  local status, detail = admit(ctx, rid, request)
  return status, detail, request
end
