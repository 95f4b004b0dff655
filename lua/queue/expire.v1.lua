-- queue.expire.v1: handle the deadlines of waiting tasks: expired tasks go to the dead set, others to their fallback
-- lane. Claims also do this; the call is for queues without claims. Repeating it leaves the same state, but returns
-- another count. It handles fewer tasks than the limit if tasks have many tags, limits or keys. 0 means that no more
-- are due.
--
-- ARGV   limit     int 1..1000   ?=100
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int expired:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.dead task.expired task.moved task.removed task.alert task.unblocked task.cancelled
-- ROLE   work
-- REPLAY state
-- FLAGS  allow-oom
-- COST   10 + 13n commands, 3 for a task in a limit queue, 8 more for each task that others wait for, 5 to 10 for each of up to 100 waiting tasks, O(n log m); at most 12,000 commands, 130,000 steps
-- EARLY  await_deadline move_to_dead lane_emptied leave_line next_lane push_due read_record trim_set
-- LATE   cancel_task

local ctx, refused = open()
if refused then return refused end

ctx.work = 15 * limit
local expired = expire_waiting(ctx, limit)
close(ctx)
return { 'ok', ctx.now, expired }
