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
-- EVENT  task.claimed task.promoted task.stalled task.dead task.cancelled task.alert worker.lost
-- FLAGS  allow-oom
-- COST   18 + n commands, O(n log m)
-- INCLUDE open_queue emit add_counts observe push_wake line_up make_ready delay_until read_lease end_leases
-- INCLUDE read_policy backoff cancel_task bury_task drop_task promote_due reap_expired sweep retire_worker
-- INCLUDE sweep_workers check_slot peek_ready read_task lane_emptied take_out write_lease add_payloads
-- INCLUDE claim_tasks reclaim_tasks

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
  deadline_ms, leased = claim_tasks(conf, item_lane, limit, known, tally)
  if #leased == 0 then sweep_workers(conf, tally) end
end
add_counts(tally)
return { 'ok', conf.now, next_ms, conf.lease_ms, deadline_ms, leased }
