-- queue.ack.v1: complete leased tasks and keep their results.
-- An expired lease that nobody has taken back yet still completes. Replays answer the same; any other token that is not
-- the current lease's answers `lease_lost` and changes nothing.
--
-- KEYS   config    hash          {base}:config
-- KEYS   running   hash          {base}:running
-- KEYS   leases    zset          {base}:leases
-- KEYS   task      prefix/hash   {base}:task:     id
-- KEYS   result    prefix/string {base}:result:   id
-- KEYS   finished  zset          {base}:finished
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
-- EACH   item      lease_lost
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.completed
-- FLAGS  allow-oom
-- COST   8 + n commands, O(n log m)
-- INCLUDE open_queue emit add_counts observe settled_before end_leases ack_tasks

local conf, refused = open_queue()
if refused then return refused end

local tally = {}
local answers = ack_tasks(conf, item_id, item_token, item_result, tally)
add_counts(tally)
return { 'ok', conf.now, answers }
