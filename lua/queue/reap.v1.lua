-- queue.reap.v1: take back leases past their deadline, and forget silent workers. Claim does it too; this is for queues
-- that nobody claims from. Idempotent in state, not in its count. Fewer than the limit where
-- tasks have many tags, limits or keys: 0 says that no more is due.
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
-- KEYS   worker_hash prefix/hash {base}:worker:   id
-- KEYS   result    prefix/string {base}:result:   id
-- KEYS   deadlines zset          {base}:deadlines
-- KEYS   once      hash          {base}:once
-- KEYS   by_user   prefix/zset   {base}:by:user:  label
-- KEYS   by_tag    prefix/zset   {base}:by:tag:   label
-- KEYS   children  prefix/zset   {base}:children: id
-- KEYS   reply     prefix/string {base}:reply:    id
-- KEYS   channel   prefix/channel {base}:channel: id
-- KEYS   log       prefix/list   {base}:log:      id
-- KEYS   control   prefix/list   {base}:control:  id
-- KEYS   blocked   zset          {base}:blocked
-- KEYS   dependents prefix/zset  {base}:dependents: id
-- KEYS   order     prefix/zset   {base}:order:    id
-- KEYS   ends      zset          {base}:ends
-- KEYS   limits    hash          {base}:limits
-- KEYS   holding   prefix/zset   {base}:holding:  limit
-- KEYS   waiting   prefix/zset   {base}:waiting:  limit
-- KEYS   limit_lines zset        {base}:limit:lines
-- KEYS   rates     zset          {base}:rates
-- KEYS   weights   hash          {base}:weights
-- KEYS   shares    prefix/zset   {base}:shares:   lane
-- KEYS   events    stream        {base}:events
-- KEYS   counters  hash          {base}:counters
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
-- COST   14 + 3n commands, 10 + 7n where tasks crash again, 8 more for each task that others wait for, 5 to 10 for each of up to 100 who do, 2 more where there are limits, 1 for each that a task holds, 7 for each line that opens and 5 for each of up to 100 who leave it, up to 300 + 2n lines and tasks, O(n log m); at most 11,000 commands, 110,000 steps
-- INCLUDE base_time open_queue emit add_counts push_wake line_up make_ready push_due delay_until await_deadline
-- INCLUDE read_lease leave_order untie end_leases read_policy backoff answer_waiters cancel_task bury_task drop_task first_leases reap_expired
-- INCLUDE remove_tasks trim_set retain retire_worker read_presence sweep_workers
-- RARELY shorten_family note_end share_place tell_waiting rank_after read_record find_set state_of push_control lane_emptied
-- RARELY leave_line cancel_one cancel_children pass_on read_limits room_left open_line open_lines free_limits

local conf, refused = open_queue()
if refused then return refused end

local tally = {}
conf.work = 15 * limit
local reaped = reap_expired(conf, limit, tally)
conf.work = math.max(conf.work, 600)
sweep_workers(conf, tally)
if conf.noted then pass_on(conf, 100, tally) end
retain(conf, tally)
add_counts(tally)
return { 'ok', conf.now, reaped }
