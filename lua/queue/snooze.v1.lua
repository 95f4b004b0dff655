-- queue.snooze.v1: put leased tasks aside for a while; no attempt is spent. Then they are ready again, behind all
-- others. Past its deadline, a lease is lost here, even if no call has taken it back yet. A task that was being
-- cancelled ends as cancelled. A repeated call returns the same answer.
--
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- ITEM   token     id
-- ITEM   delay_ms  int 0..315360000000
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      snoozed due_ms:int
-- EACH   item      cancelled
-- EACH   item      lease_lost
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.released task.snoozed task.cancelled task.removed task.unblocked task.dead
-- ROLE   work
-- REPLAY token
-- FLAGS  allow-oom
-- COST   8 + 4n commands, 2 more if it is due within 10 s, 2 more if there are limits, 1 for each limit of a task, 4 for each limit queue that opens and 3 for each of up to 100 tasks that leave it, up to 100 + 2n limit queues and tasks, O(n log m); at most 37,000 commands, 470,000 steps
-- EARLY  note_run await_deadline delay_until push_due settled_before trim_set

local ctx, refused = open()
if refused then return refused end

local answers = return_leases(ctx, item_id, item_token, item_delay_ms)
close(ctx)
return { 'ok', ctx.now, answers }
