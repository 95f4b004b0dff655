-- queue.drain.v1: accept no new tasks until resume (`ADEQ_DRAINING`), and let existing tasks run to their end. It ends
-- a pause. If the same call is sent again, it changes nothing more.
--
-- ARGV   rid       id            ?=
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  queue.draining
-- ROLE   operate
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   10 + 2l commands for l lanes; at most 1,200 commands, 5,600 steps

local ctx, refused = open()
if refused then return refused end

set_mode(ctx, 'draining', 'queue.draining')
wake_lanes(ctx)
return { 'ok', ctx.now }
