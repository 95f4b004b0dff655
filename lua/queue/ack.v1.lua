-- queue.ack.v1: complete leased tasks and keep their results. `result_dropped` completed too, but the server's memory is
-- full and a result above 4 KiB was not kept.
-- An expired lease that nobody has taken back yet still completes. Replays answer the same, but `already` to another result than the
-- one that is kept, which stays; any other token that is not the current lease's answers `lease_lost` and changes nothing.
--
-- KEYS   config    hash          {base}:config
-- KEYS   running   hash          {base}:running
-- KEYS   leases    zset          {base}:leases
-- KEYS   task      prefix/hash   {base}:task:     id
-- KEYS   result    prefix/string {base}:result:   id
-- KEYS   finished  zset          {base}:finished
-- KEYS   payload   prefix/string {base}:payload:  id
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
-- KEYS   delayed   zset          {base}:delayed
-- KEYS   ready     prefix/zset   {base}:ready:    lane
-- KEYS   lanes     set           {base}:lanes
-- KEYS   wake      prefix/list   {base}:wake:     lane
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
-- ITEM   result    bytes 0..1048576
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      completed
-- EACH   item      result_dropped
-- EACH   item      already
-- EACH   item      lease_lost
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.completed task.removed task.unblocked task.dead task.cancelled
-- ROLE   work
-- REPLAY token
-- FLAGS  allow-oom
-- COST   10 + n commands, 8 more for each task that others wait for, 5 to 10 for each of up to 100 who do, 2 more where there are limits, 1 for each that a task holds, 7 for each line that opens and 5 for each of up to 100 who leave it, up to 300 + 2n lines and tasks, O(n log m); at most 41,000 commands, 310,000 steps
-- INCLUDE base_time open_queue emit add_counts observe end_leases keep_result answer_waiters ack_tasks retain
-- RARELY has_other_result join_traces shorten_family is_full settled_before note_end leave_order untie remove_tasks trim_set push_wake make_ready push_due delay_until
-- RARELY await_deadline line_up bury_task cancel_task share_place tell_waiting rank_after read_record find_set
-- RARELY state_of push_control lane_emptied leave_line cancel_one cancel_children pass_on read_limits room_left
-- RARELY open_line open_lines free_limits

local conf, refused = open_queue()
if refused then return refused end

local tally = {}
local answers = ack_tasks(conf, item_id, item_token, item_result, tally)
if conf.noted then pass_on(conf, 100, tally) end
retain(conf, tally)
add_counts(tally)
return { 'ok', conf.now, answers }
