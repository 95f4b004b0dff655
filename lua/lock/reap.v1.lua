-- lock.reap.v1: end overdue requests, hand over to the next waiters, and forget ended requests. The other scripts also
-- do this; the call is for domains without other calls. Repeating it leaves the same state, but returns another count.
-- more=1: there may be more.
--
-- ARGV   limit     int 1..1000    ?=100
-- ARGV   trace     bytes 0..128   ?=
-- ARGV   source    bytes 0..200   ?=
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN ok        now_ms:int ended:int more:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  lock.promoted lock.expired lock.cancelled
-- ROLE   work
-- REPLAY state
-- FLAGS  allow-oom
-- COST   6 commands, 6 more for each that ends without waiters; at most 2,600 commands, 140,000 steps

local ctx, refused = open_domain({})
if refused then return refused end
local count = end_due(ctx, limit)
close_domain(ctx)
return { 'ok', ctx.now, count, ctx.due <= ctx.now and 1 or 0 }
