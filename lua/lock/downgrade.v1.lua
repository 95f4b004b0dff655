-- lock.downgrade.v1: make exclusive holds of a request shared, with the same fence, and grant the waiters that may
-- follow.
--
-- ARGV   rid       id
-- ARGV   trace     bytes 0..128   ?=
-- ARGV   source    bytes 0..200   ?=
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN downgraded now_ms:int
-- RETURN waiting   now_ms:int
-- RETURN lost      now_ms:int
-- RETURN unknown   now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  lock.promoted lock.expired lock.cancelled
-- ROLE   work
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   9 commands if no request waits; at most 580 commands, 13,000 steps
-- EARLY  link_request record_of
-- LATE   live_request

local ctx, refused = open_domain({ rid })
if refused then return refused end
catch_up(ctx, { rid })
local request = live_request(ctx, rid)
local status = request and 'waiting' or record_of(ctx, rid) and 'lost' or 'unknown'
if request and request.order == '-' then
  status = 'downgraded'
  redis.call('ZREM', graph, unpack(members_of(rid, request)))  -- at most 65: members of a request
  note_freed(ctx, request) -- as it was: what it had shared before lets nobody in
  for _, part in ipairs(request.parts) do
    if part.code == 'x' then part.code = 's' end
  end
  link_request(ctx, rid, request)
  write_request(ctx, rid, request)
  promote_freed(ctx)
end
close_domain(ctx)
return { status, ctx.now }
