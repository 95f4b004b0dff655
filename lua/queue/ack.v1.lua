-- queue.ack.v1: complete leased tasks and keep their results. `result_dropped` completed too, but the server's memory is
-- full and a result above 4 KiB was not kept.
-- An expired lease that nobody has taken back yet still completes. Replays answer the same; any other token that is not
-- the current lease's answers `lease_lost` and changes nothing.
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
-- KEYS   by_user   prefix/zset   {base}:by:user:  id
-- KEYS   by_tag    prefix/zset   {base}:by:tag:   id
-- KEYS   children  prefix/zset   {base}:children: id
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
-- EACH   item      lease_lost
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.completed task.removed
-- FLAGS  allow-oom
-- COST   10 + n commands, O(n log m)
-- INCLUDE open_queue emit add_counts observe end_leases keep_result ack_tasks retain
-- RARELY is_full settled_before untie remove_task trim_set

local conf, refused = open_queue()
if refused then return refused end

local tally = {}
local answers = ack_tasks(conf, item_id, item_token, item_result, tally)
retain(conf, tally)
add_counts(tally)
return { 'ok', conf.now, answers }
