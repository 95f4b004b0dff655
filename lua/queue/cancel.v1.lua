-- queue.cancel.v1: end waiting tasks at once, and mark running ones: their worker hears it with the next heartbeat, and
-- every way out but ack then ends in cancelled. The same call, sent again, answers the same.
--
-- KEYS   config    hash          {base}:config
-- KEYS   running   hash          {base}:running
-- KEYS   leases    zset          {base}:leases
-- KEYS   task      prefix/hash   {base}:task:     id
-- KEYS   ready     prefix/zset   {base}:ready:    lane
-- KEYS   lanes     set           {base}:lanes
-- KEYS   wake      prefix/list   {base}:wake:     lane
-- KEYS   delayed   zset          {base}:delayed
-- KEYS   blocked   zset          {base}:blocked
-- KEYS   finished  zset          {base}:finished
-- KEYS   dead      zset          {base}:dead
-- KEYS   payload   prefix/string {base}:payload:  id
-- KEYS   result    prefix/string {base}:result:   id
-- KEYS   deadlines zset          {base}:deadlines
-- KEYS   once      hash          {base}:once
-- KEYS   once_due  zset          {base}:once:due
-- KEYS   by_user   prefix/zset   {base}:by:user:  id
-- KEYS   by_tag    prefix/zset   {base}:by:tag:   id
-- KEYS   children  prefix/zset   {base}:children: id
-- KEYS   events    stream        {base}:events
-- KEYS   counters  hash          {base}:counters
-- ARGV   rid       id            ?=
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      cancelled
-- EACH   item      cancelling
-- EACH   item      finished
-- EACH   item      not_found
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.cancelled task.removed
-- FLAGS  allow-oom
-- COST   11 + 9n commands, O(n log m)
-- INCLUDE open_queue emit add_counts untie cancel_task lane_emptied read_record find_set state_of remove_task
-- INCLUDE trim_set retain done_before
-- INCLUDE recall_answers sweep_once hold_once note_done note_answers

local conf, refused = open_queue()
if refused then return refused end

local answers, tally = recall_answers(conf, 'cancel', item_count), {}
if answers then return { 'ok', conf.now, answers } end
answers = {}
for i = 1, item_count do
  local id = item_id[i]
  local record = read_record(id)
  local set, score = find_set(id, record)
  local state = state_of(conf, set, score, record)
  if not state then
    answers[i] = { 'not_found' }
  elseif state == 'cancelled' then
    answers[i] = { 'cancelled' }
  elseif state == 'completed' or state == 'dead' then
    answers[i] = { 'finished' }
  elseif set == leases then
    answers[i] = { 'cancelling' }
    local held = redis.call('HGET', running, id)
    if held and not string.find(held, ' cancel|', 1, true) then
      redis.call('HSET', running, id, (string.gsub(held, '|', ' cancel|', 1)))
    end
  else
    answers[i] = { 'cancelled' }
    redis.call('ZREM', set, id)
    if state == 'ready' and redis.call('EXISTS', set) == 0 then lane_emptied(record.lane or 'any') end
    cancel_task(conf, id, record.ties, tally)
  end
end
note_answers(conf, 'cancel', answers)
retain(conf, tally)
add_counts(tally)
return { 'ok', conf.now, answers }
