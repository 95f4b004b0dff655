-- queue.release.v1: return leased tasks to their old places; no attempt is spent. Past its deadline, a lease is lost
-- here, even if no call has taken it back yet. A task that was being cancelled ends as cancelled. A repeated call
-- returns the same answer.
--
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- ITEM   token     id
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      released place:int
-- EACH   item      cancelled
-- EACH   item      lease_lost
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.released task.snoozed task.cancelled task.removed task.unblocked task.dead
-- ROLE   work
-- REPLAY token
-- FLAGS  allow-oom
-- COST   11 + 3n commands, 2 more if there are limits, 1 for each limit of a task, 4 for each limit queue that opens and 3 for each of up to 100 tasks that leave it, up to 100 + 2n limit queues and tasks, O(n log m); at most 34,000 commands, 460,000 steps
-- EARLY  note_run await_deadline delay_until push_due settled_before trim_set

local ctx, refused = open()
if refused then return refused end

local answers = return_leases(ctx, item_id, item_token, nil)
close(ctx)
return { 'ok', ctx.now, answers }
