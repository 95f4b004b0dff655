-- queue.expire.v1: look after the deadlines of waiting tasks: those that expired go to the dead set, others over to their
-- fallback lane. Claim does it too; this is for queues that nobody claims from. Idempotent in state, not in its
-- count. Fewer than the limit where tasks have many tags, limits or keys: 0 says that no more is due.
--
-- KEYS   config    hash          {base}:config
-- KEYS   leases    zset          {base}:leases
-- KEYS   task      prefix/hash   {base}:task:     id
-- KEYS   payload   prefix/string {base}:payload:  id
-- KEYS   result    prefix/string {base}:result:   id
-- KEYS   ready     prefix/zset   {base}:ready:    lane
-- KEYS   lanes     set           {base}:lanes
-- KEYS   wake      prefix/list   {base}:wake:     lane
-- KEYS   delayed   zset          {base}:delayed
-- KEYS   blocked   zset          {base}:blocked
-- KEYS   finished  zset          {base}:finished
-- KEYS   dead      zset          {base}:dead
-- KEYS   deadlines zset          {base}:deadlines
-- KEYS   once      hash          {base}:once
-- KEYS   by_user   prefix/zset   {base}:by:user:  label
-- KEYS   by_tag    prefix/zset   {base}:by:tag:   label
-- KEYS   children  prefix/zset   {base}:children: id
-- KEYS   reply     prefix/string {base}:reply:    id
-- KEYS   channel   prefix/channel {base}:channel: id
-- KEYS   log       prefix/list   {base}:log:      id
-- KEYS   control   prefix/list   {base}:control:  id
-- KEYS   dependents prefix/zset  {base}:dependents: id
-- KEYS   order     prefix/zset   {base}:order:    id
-- KEYS   ends      zset          {base}:ends
-- KEYS   running   hash          {base}:running
-- KEYS   weights   hash          {base}:weights
-- KEYS   shares    prefix/zset   {base}:shares:   lane
-- KEYS   waiting   prefix/zset   {base}:waiting:  limit
-- KEYS   limit_lines zset        {base}:limit:lines
-- KEYS   events    stream        {base}:events
-- KEYS   counters  hash          {base}:counters
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
-- COST   10 + 13n commands, 3 for one in the line of a limit, 8 more for each task that others wait for, 5 to 10 for each of up to 100 who do, O(n log m); at most 14,000 commands, 130,000 steps
-- INCLUDE base_time open_queue emit add_counts push_wake line_up make_ready push_due await_deadline leave_order untie
-- INCLUDE answer_waiters bury_task drop_task read_record find_set lane_emptied next_lane leave_line expire_waiting remove_tasks
-- INCLUDE trim_set retain
-- RARELY shorten_family note_end delay_until cancel_task share_place tell_waiting rank_after state_of push_control
-- RARELY cancel_one cancel_children pass_on

local conf, refused = open_queue()
if refused then return refused end

local tally = {}
conf.work = 15 * limit
local expired = expire_waiting(conf, limit, tally)
if conf.noted then pass_on(conf, 100, tally) end
retain(conf, tally)
add_counts(tally)
return { 'ok', conf.now, expired }
