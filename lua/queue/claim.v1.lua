-- queue.claim.v1: lease the next tasks of some lanes to a worker; on the way promote and reap what is due.
-- The call is number n of a slot of an incarnation of the worker, one call in flight per slot. The same n is a replay: it
-- returns those tasks it was given before that are still under the same token. A lower n or another incarnation is
-- `stale`, a worker that is not registered `unregistered`; neither writes.
--
-- KEYS   config    hash          {base}:config
-- KEYS   running   hash          {base}:running
-- KEYS   leases    zset          {base}:leases
-- KEYS   task      prefix/hash   {base}:task:     id
-- KEYS   payload   prefix/string {base}:payload:  id
-- KEYS   ready     prefix/zset   {base}:ready:    lane
-- KEYS   lanes     set           {base}:lanes
-- KEYS   wake      prefix/list   {base}:wake:     lane
-- KEYS   delayed   zset          {base}:delayed
-- KEYS   finished  zset          {base}:finished
-- KEYS   dead      zset          {base}:dead
-- KEYS   workers   zset          {base}:workers
-- KEYS   worker_hash prefix/hash {base}:worker:   name
-- KEYS   result    prefix/string {base}:result:   id
-- KEYS   deadlines zset          {base}:deadlines
-- KEYS   once      hash          {base}:once
-- KEYS   once_due  zset          {base}:once:due
-- KEYS   by_user   prefix/zset   {base}:by:user:  id
-- KEYS   by_tag    prefix/zset   {base}:by:tag:   id
-- KEYS   children  prefix/zset   {base}:children: id
-- KEYS   blocked   zset          {base}:blocked
-- KEYS   events    stream        {base}:events
-- KEYS   counters  hash          {base}:counters
-- ARGV   worker    name
-- ARGV   incarnation name
-- ARGV   slot      int 0..255
-- ARGV   n         int 1..999999999999
-- ARGV   limit     int 1..1000
-- ARGV   lease_ms  int 0..86400000 ?=0
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   lane      lane
-- GROUP  item      1..64
-- RETURN ok        now_ms:int next_ms:int lease_ms:int deadline_ms:int leases:list(lease)
-- RETURN stale
-- RETURN unregistered
-- EACH   lease     leased id:id token:id fence:int attempt:int delivery:int payload:bytes record:pairs
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.claimed task.promoted task.stalled task.dead task.expired task.moved task.cancelled task.removed
-- EVENT  task.alert worker.lost
-- FLAGS  allow-oom
-- COST   17 + n commands, 25 + n once a second, O(n log m)
-- INCLUDE open_queue emit add_counts observe sweep retain push_wake lane_emptied check_slot peek_ready read_task
-- INCLUDE take_out write_lease add_payloads claim_tasks
-- RARELY end_leases read_lease line_up make_ready push_due delay_until await_deadline untie drop_task cancel_task bury_task
-- RARELY read_policy backoff reap_expired promote_due read_record find_set expire_waiting remove_task trim_set
-- RARELY retire_worker sweep_workers trim_ended sweep_once housekeep start_tied reclaim_tasks

local conf, refused = open_queue()
if refused then return refused end
if lease_ms > 0 then conf.lease_ms = lease_ms end
local standing, known = check_slot()
if standing == 'stale' then return { 'stale' } end
if standing == 'unregistered' then return { 'unregistered' } end

local tally, deadline_ms, leased = {}, nil, nil
local next_ms = sweep(conf, tally)
if standing == 'replay' then
  deadline_ms, leased = reclaim_tasks(conf, known)
else
  if math.abs(conf.now - known) >= 1000 and housekeep(conf, tally) then known = conf.now end
  deadline_ms, leased = claim_tasks(conf, item_lane, limit, known, tally)
end
retain(conf, tally)
add_counts(tally)
return { 'ok', conf.now, next_ms, conf.lease_ms, deadline_ms, leased }
