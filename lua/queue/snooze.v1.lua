-- queue.snooze.v1: put leased tasks aside for a while at no attempt cost; when it is over they go to the end of the line.
-- Past its deadline a lease is lost here, even if nobody has taken it back yet. A task that was being cancelled ends as
-- cancelled. Replays answer the same.
--
-- KEYS   config    hash          {base}:config
-- KEYS   running   hash          {base}:running
-- KEYS   leases    zset          {base}:leases
-- KEYS   task      prefix/hash   {base}:task:     id
-- KEYS   ready     prefix/zset   {base}:ready:    lane
-- KEYS   lanes     set           {base}:lanes
-- KEYS   wake      prefix/list   {base}:wake:     lane
-- KEYS   finished  zset          {base}:finished
-- KEYS   payload   prefix/string {base}:payload:  id
-- KEYS   result    prefix/string {base}:result:   id
-- KEYS   delayed   zset          {base}:delayed
-- KEYS   deadlines zset          {base}:deadlines
-- KEYS   once      hash          {base}:once
-- KEYS   dead      zset          {base}:dead
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
-- COST   8 + 3n commands, 2 more where it is due within 10 s, 2 more where there are limits, 1 for each that a task holds, 7 for each line that opens and 5 for each of up to 100 who leave it, up to 300 + 2n lines and tasks, O(n log m); at most 36,000 commands, 310,000 steps
-- INCLUDE base_time open_queue emit add_counts push_wake line_up make_ready push_due delay_until await_deadline
-- INCLUDE read_lease settled_as settled_before leave_order untie end_leases answer_waiters cancel_task return_leases remove_tasks
-- INCLUDE trim_set retain
-- RARELY shorten_family note_end bury_task share_place tell_waiting rank_after read_record find_set state_of push_control
-- RARELY lane_emptied leave_line cancel_one cancel_children pass_on read_limits room_left open_line open_lines
-- RARELY free_limits

local conf, refused = open_queue()
if refused then return refused end

local tally = {}
local answers = return_leases(conf, item_id, item_token, item_delay_ms, tally)
if conf.noted then pass_on(conf, 100, tally) end
retain(conf, tally)
add_counts(tally)
return { 'ok', conf.now, answers }
