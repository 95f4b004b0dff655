-- queue.resume.v1: end pause or drain, and wake the workers of the lanes with tasks. If the same call is sent again, it
-- changes nothing more.
--
-- ARGV   rid       id            ?=
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  queue.resumed
-- ROLE   operate
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   10 + 2l commands for l lanes, up to 3 more if the queue has schedules; at most 1,200 commands, 5,700 steps
-- EARLY  create_base

local ctx, refused = open()
if refused then return refused end

set_mode(ctx, 'running', 'queue.resumed')
wake_lanes(ctx)
if ctx.settings.schedules then push_due('any') end  -- in a drain nobody heard of them
return { 'ok', ctx.now }
