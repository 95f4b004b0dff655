-- queue.deregister.v1: forget a worker that stops. The tasks that it names go back to their old places at no attempt cost, as
-- in release, whatever has become of the worker; others that it holds are lost at the end of their leases.
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
-- KEYS   limits    hash          {base}:limits
-- KEYS   holding   prefix/zset   {base}:holding:  limit
-- KEYS   waiting   prefix/zset   {base}:waiting:  limit
-- KEYS   limit_lines zset        {base}:limit:lines
-- KEYS   rates     zset          {base}:rates
-- KEYS   weights   hash          {base}:weights
-- KEYS   shares    prefix/zset   {base}:shares:   lane
-- KEYS   counters  hash          {base}:counters
-- KEYS   workers   zset          {base}:workers
-- KEYS   worker_hash prefix/hash {base}:worker:   id
-- KEYS   reply     prefix/string {base}:reply:    id
-- KEYS   channel   prefix/channel {base}:channel: id
-- KEYS   log       prefix/list   {base}:log:      id
-- KEYS   control   prefix/list   {base}:control:  id
-- KEYS   blocked   zset          {base}:blocked
-- KEYS   dependents prefix/zset  {base}:dependents: id
-- KEYS   order     prefix/zset   {base}:order:    id
-- KEYS   ends      zset          {base}:ends
-- KEYS   events    stream        {base}:events
-- ARGV   worker    id
-- ARGV   incarnation name
-- ARGV   reason    name          ?=stopped
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- ITEM   token     id
-- GROUP  item      0..1000
-- RETURN deregistered now_ms:int
-- RETURN unregistered
-- RETURN stale
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  worker.deregistered task.released task.snoozed task.cancelled task.removed task.unblocked task.dead
-- ROLE   work
-- REPLAY state
-- FLAGS  allow-oom
-- COST   9 commands, 4 + 2n more for tasks, 2 more where there are limits, 1 for each that a task holds, 7 for each line that opens and 5 for each of up to 100 who leave it, up to 300 + 2n lines and tasks, O(n log m); at most 33,000 commands, 300,000 steps
-- INCLUDE base_time open_queue emit retire_worker
-- RARELY shorten_family add_counts push_wake line_up make_ready push_due delay_until await_deadline read_lease settled_as
-- RARELY settled_before note_end leave_order untie answer_waiters read_limits room_left open_line open_lines
-- RARELY free_limits end_leases cancel_task return_leases remove_tasks trim_set retain bury_task share_place
-- RARELY tell_waiting rank_after read_record find_set state_of push_control lane_emptied leave_line cancel_one cancel_children
-- RARELY pass_on

local conf, refused = open_queue()
if refused then return refused end
if item_count > 0 then
  local tally = {}
  return_leases(conf, item_id, item_token, nil, tally)
  if conf.noted then pass_on(conf, 100, tally) end
  retain(conf, tally)
  add_counts(tally)
end
local row = redis.call('HMGET', worker_hash .. worker, 'incarnation', 'replaced')
if not row[1] then
  local ended = string.find(' ' .. (row[2] or '') .. ' ', ' ' .. incarnation .. ' ', 1, true)
  if ended then return { 'deregistered', conf.now } end
  return { 'unregistered' }
end
if row[1] ~= incarnation then return { 'stale' } end

redis.call('ZREM', workers, worker)
retire_worker(worker)
emit(conf, 'worker.deregistered', worker, 'reason=' .. reason)
return { 'deregistered', conf.now }
