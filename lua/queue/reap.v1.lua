-- queue.reap.v1: take back leases past their deadline, and forget silent workers. Claim does it too; this is for queues
-- that nobody claims from. Idempotent in state, not in its count.
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
-- ARGV   limit     int 1..1000   ?=100
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int reaped:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.stalled task.dead task.cancelled task.alert worker.lost
-- FLAGS  allow-oom
-- COST   13 + 3n commands, 10 + 6n where tasks crash again, O(n log m)
-- INCLUDE open_queue emit add_counts push_wake line_up make_ready delay_until read_lease end_leases read_policy
-- INCLUDE backoff cancel_task bury_task drop_task reap_expired retire_worker sweep_workers

local conf, refused = open_queue()
if refused then return refused end

local tally = {}
local reaped = reap_expired(conf, limit, tally)
sweep_workers(conf, tally)
add_counts(tally)
return { 'ok', conf.now, reaped }
