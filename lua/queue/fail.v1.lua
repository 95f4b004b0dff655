-- queue.fail.v1: end failed attempts: each task is retried after a backoff or moves to the dead set. The delay before
-- retry n is delay_ms, or min(base * multiplier^(n-1), cap) with jitter, at most cap. timeout_ms applies to the next
-- run. run_trace is the trace of this run, for the next one. alert writes an event for people. sealed: the error is encrypted, so the event of a death leaves it out. A task
-- that was being cancelled ends as cancelled. A repeated call returns the same answer.
--
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- ITEM   token     id
-- ITEM   retryable bool          ?=1
-- ITEM   reason    name          ?=error
-- ITEM   error     bytes 0..8192 ?=
-- ITEM   jitter_ppm int 0..1000000 ?=500000
-- PAIR   delay_ms  int 0..315360000000
-- PAIR   timeout_ms int 1..315360000000
-- PAIR   alert     bool ?=0
-- PAIR   sealed    bool ?=0
-- PAIR   exit_code int -1000..1000
-- PAIR   run_trace bytes 1..128
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      retried due_ms:int
-- EACH   item      dead
-- EACH   item      cancelled
-- EACH   item      lease_lost
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.retried task.dead task.cancelled task.removed task.alert task.unblocked
-- ROLE   work
-- REPLAY token
-- FLAGS  allow-oom
-- COST   8 + 7n commands, 8 more for each task that others wait for, 5 to 10 for each of up to 100 waiting tasks, 2 more if there are limits, 1 for each limit of a task, 4 for each limit queue that opens and 3 for each of up to 100 tasks that leave it, up to 100 + 2n limit queues and tasks, O(n log m); at most 43,000 commands, 540,000 steps
-- EARLY  note_run error_end await_deadline backoff move_to_dead delay_until describe_death push_due settled_before trim_set
-- LATE   line_up

local ctx, refused = open()
if refused then return refused end

local answers = fail_tasks(ctx, {
  id = item_id, token = item_token, retryable = item_retryable, reason = item_reason, error = item_error,
  jitter_ppm = item_jitter_ppm, pairs = item_pairs,
})
close(ctx)
return { 'ok', ctx.now, answers }
