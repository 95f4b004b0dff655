-- queue.promote.v1: make delayed tasks ready whose time has come. Claims also do this; the call is for queues without
-- claims. Repeating it leaves the same state, but returns another count. 0 means that no more are due.
--
-- ARGV   limit     int 1..1000   ?=100
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int promoted:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.promoted task.alert
-- ROLE   work
-- REPLAY state
-- FLAGS  allow-oom
-- COST   11 + 2n commands, 1 more with fair shares and 2 for each user, 1 for each of up to 1,000 that are due at the same time after crashes, O(n log m); at most 8,400 commands, 73,000 steps

local ctx, refused = open()
if refused then return refused end

ctx.work = 15 * limit
local promoted = promote_due(ctx, limit)
if ctx.notes then store_notes(ctx) end
write_counts(ctx)
return { 'ok', ctx.now, promoted }
