-- queue.settle.v1: the main call of a worker: complete some tasks, fail others and lease the next, in one call. Slot,
-- incarnation, n, busy and lane_first are as in claim; acks and fails are as in ack and fail. If the call is sent
-- again, it returns the same answer, except `already`, as in ack.
--
-- ARGV   worker    id
-- ARGV   incarnation name
-- ARGV   slot      int 0..255
-- ARGV   n         int 1..999999999999
-- ARGV   limit     int 0..1000
-- ARGV   lease_ms  int 0..86400000 ?=0
-- ARGV   busy      int -1..100000 ?=-1
-- ARGV   lane_first bool       ?=0
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   acks.id        id
-- ITEM   acks.token     id
-- ITEM   acks.result    bytes 0..1048576
-- ITEM   fails.id       id
-- ITEM   fails.token    id
-- ITEM   fails.retryable bool         ?=1
-- ITEM   fails.reason   name          ?=error
-- ITEM   fails.error    bytes 0..8192 ?=
-- ITEM   fails.jitter_ppm int 0..1000000 ?=500000
-- PAIR   fails.delay_ms int 0..315360000000
-- PAIR   fails.timeout_ms int 1..315360000000
-- PAIR   fails.alert    bool ?=0
-- PAIR   fails.sealed   bool ?=0
-- PAIR   fails.exit_code int -1000..1000
-- PAIR   fails.run_trace bytes 1..128
-- ITEM   lanes_wanted.lane lane
-- GROUP  lanes_wanted   0..64
-- RETURN ok        now_ms:int next_ms:int fires_ms:int lease_ms:int deadline_ms:int acks:list(ack) fails:list(fail) leases:list(lease)
-- RETURN stale
-- RETURN unregistered
-- EACH   ack       completed
-- EACH   ack       result_dropped
-- EACH   ack       already
-- EACH   ack       lease_lost
-- EACH   fail      retried due_ms:int
-- EACH   fail      dead
-- EACH   fail      cancelled
-- EACH   fail      lease_lost
-- EACH   lease     leased id:id token:id fence:int attempt:int delivery:int payload:bytes record:pairs(task)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.completed task.retried task.claimed task.promoted task.stalled task.dead task.expired task.moved
-- EVENT  task.cancelled task.removed task.alert worker.lost task.unblocked task.limited
-- ROLE   work
-- REPLAY slot
-- FLAGS  allow-oom
-- COST   23 + 2n commands, 26 + 2n once a second, 4 and up to 100 more for a claim of tasks that are not all plain, 1 more if payloads are not kept and n if they are kept for a time, 1 more if the queue has schedules, 8 more for each task that others wait for, 5 to 10 for each of up to 100 waiting tasks, 7 more if there are limits, 2 for each limit of a task, 6 for a task that joins or leaves a limit queue, at most 100, O(n log m); at most 52,000 commands, 970,000 steps
-- EARLY  lane_emptied push_wake read_task
-- LATE   answer_waiters cancel_task drop_task line_up settled_as

-- The usual call: acks of plain tasks, and the next plain tasks. It makes no functions but these.
local row, held, known
if fails_count == 0 and source .. trace == '' then
  row = redis.call('HMGET', config, SETTING_NAMES)
  local now, now_text, seen_ms, runs
  now, now_text, known, seen_ms = plain_slot(row)
  if now and acks_count > 0 then
    held = redis.call('HMGET', running, unpack(acks_id))  -- at most 1,000: items
    runs = plain_runs(row, held, acks_id, acks_token, acks_result)
  end
  if now and (runs or acks_count == 0) then
    local function complete()
      return runs and complete_plain(row, now, now_text, acks_id, acks_token, acks_result, runs) or {}
    end
    local answer = claim_plain(row, now, now_text, seen_ms, lanes_wanted_lane, runs, complete)
    if answer then return answer end
  end
end
-- LATE BODY

local ctx, refused = open(nil, row)
if refused then return refused end
ctx.lease_ms = lease_ms > 0 and lease_ms or ctx.settings.lease_ms
local standing, given = check_slot(ctx, known)
if standing == 'stale' then return { 'stale' } end
if standing == 'unregistered' then return { 'unregistered' } end

local failed, deadline_ms, leased = {}, nil, nil
local acked = ack_tasks(ctx, acks_id, acks_token, acks_result, held)
if fails_count > 0 then
  failed = fail_tasks(ctx, {
    id = fails_id, token = fails_token, retryable = fails_retryable, reason = fails_reason, error = fails_error,
    jitter_ppm = fails_jitter_ppm, pairs = fails_pairs,
  })
end
ctx.next_ms = sweep(ctx)
if standing == 'replay' then
  deadline_ms, leased = reclaim_tasks(ctx, given)
else
  if math.abs(ctx.now - given) >= 1000 and housekeep(ctx, lanes_wanted_lane, given) then given = ctx.now end
  deadline_ms, leased = claim_tasks(ctx, lanes_wanted_lane, limit, given)
end
on_claimed(ctx)
close(ctx)
return { 'ok', ctx.now, ctx.next_ms, ctx.settings.schedules and next_firing(ctx) or 0, ctx.lease_ms, deadline_ms, acked, failed, leased }
