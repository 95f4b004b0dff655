-- queue.settle.v1: a worker's hot path: complete some tasks, fail others and lease the next, in one call.
-- Slot, incarnation and n are as in claim; acks are as in ack and fails as in fail, and a re-sent call answers the same.
--
-- KEYS   config    hash          {base}:config
-- KEYS   running   hash          {base}:running
-- KEYS   leases    zset          {base}:leases
-- KEYS   task      prefix/hash   {base}:task:     id
-- KEYS   result    prefix/string {base}:result:   id
-- KEYS   payload   prefix/string {base}:payload:  id
-- KEYS   ready     prefix/zset   {base}:ready:    lane
-- KEYS   lanes     set           {base}:lanes
-- KEYS   wake      prefix/list   {base}:wake:     lane
-- KEYS   delayed   zset          {base}:delayed
-- KEYS   finished  zset          {base}:finished
-- KEYS   dead      zset          {base}:dead
-- KEYS   workers   zset          {base}:workers
-- KEYS   worker_hash prefix/hash {base}:worker:   name
-- KEYS   events    stream        {base}:events
-- KEYS   counters  hash          {base}:counters
-- ARGV   worker    name
-- ARGV   incarnation name
-- ARGV   slot      int 0..255
-- ARGV   n         int 1..999999999999
-- ARGV   limit     int 0..1000
-- ARGV   lease_ms  int 0..86400000 ?=0
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
-- ITEM   lanes_wanted.lane lane
-- GROUP  lanes_wanted   0..64
-- RETURN ok        now_ms:int next_ms:int lease_ms:int deadline_ms:int acks:list(ack) fails:list(fail) leases:list(lease)
-- RETURN stale
-- RETURN unregistered
-- EACH   ack       completed
-- EACH   ack       lease_lost
-- EACH   fail      retried due_ms:int
-- EACH   fail      dead
-- EACH   fail      cancelled
-- EACH   fail      lease_lost
-- EACH   lease     leased id:id token:id fence:int attempt:int delivery:int payload:bytes record:pairs
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.completed task.retried task.claimed task.promoted task.stalled task.dead task.cancelled task.alert
-- EVENT  worker.lost
-- FLAGS  allow-oom
-- COST   25 + 2n commands, O(n log m)
-- INCLUDE open_queue emit add_counts observe push_wake line_up make_ready delay_until read_lease settled_as
-- INCLUDE settled_before end_leases read_policy backoff cancel_task bury_task drop_task ack_tasks fail_tasks
-- INCLUDE promote_due reap_expired sweep retire_worker sweep_workers check_slot peek_ready read_task
-- INCLUDE lane_emptied take_out write_lease add_payloads claim_tasks reclaim_tasks

local conf, refused = open_queue()
if refused then return refused end
if lease_ms > 0 then conf.lease_ms = lease_ms end
local standing, known = check_slot()
if standing == 'stale' then return { 'stale' } end
if standing == 'unregistered' then return { 'unregistered' } end

local tally, deadline_ms, leased = {}, nil, nil
local acked = ack_tasks(conf, acks_id, acks_token, acks_result, tally)
local failed = fail_tasks(conf, {
  id = fails_id, token = fails_token, retryable = fails_retryable, reason = fails_reason, error = fails_error,
  jitter_ppm = fails_jitter_ppm,
}, tally)
local next_ms = sweep(conf, tally)
if standing == 'replay' then
  deadline_ms, leased = reclaim_tasks(conf, known)
else
  deadline_ms, leased = claim_tasks(conf, lanes_wanted_lane, limit, known, tally)
  if #leased == 0 then sweep_workers(conf, tally) end
end
add_counts(tally)
return { 'ok', conf.now, next_ms, conf.lease_ms, deadline_ms, acked, failed, leased }
