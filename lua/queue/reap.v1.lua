-- queue.reap.v1: take back leases past their deadline, and remove silent workers. Claims also do this; the call is for
-- queues without claims. Repeating it leaves the same state, but returns another count. It handles fewer leases than
-- the limit if tasks have many tags, limits or keys. 0 means that no more are due.
--
-- ARGV   limit     int 1..1000   ?=100
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int reaped:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.stalled task.dead task.cancelled task.removed task.alert worker.lost task.unblocked
-- ROLE   work
-- REPLAY state
-- FLAGS  allow-oom
-- COST   14 + 4n commands, 10 + 8n if tasks crash again, 8 more for each task that others wait for, 5 to 10 for each of up to 100 waiting tasks, 2 more if there are limits, 1 for each limit of a task, 4 for each limit queue that opens and 3 for each of up to 100 tasks that leave it, up to 100 + 2n limit queues and tasks, O(n log m); at most 8,300 commands, 150,000 steps
-- EARLY  note_run await_deadline backoff move_to_dead delay_until first_leases push_due read_presence trim_set

local ctx, refused = open()
if refused then return refused end

ctx.work = 15 * limit
local reaped = reap_expired(ctx, limit)
ctx.work = 600  -- for 100 silent workers
sweep_workers(ctx)
close(ctx)
return { 'ok', ctx.now, reaped }
