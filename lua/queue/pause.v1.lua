-- queue.pause.v1: lease no more tasks until resume. New tasks are accepted, running tasks settle, and due tasks are
-- moved. Each remaining wake-up token costs a worker one empty claim. If the same call is sent again, it changes
-- nothing more.
--
-- ARGV   rid       id            ?=
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  queue.paused
-- ROLE   operate
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   9 commands; at most 9 commands, 90 steps

local ctx, refused = open()
if refused then return refused end

set_mode(ctx, 'paused', 'queue.paused')
return { 'ok', ctx.now }
