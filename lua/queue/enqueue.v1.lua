-- queue.enqueue.v1: put tasks into a queue, to be done at once or after a delay.
-- Ids are the caller's. The same id under the same rid and index is a replay and answers `created` again; any other
-- use of a known id answers `exists` and changes nothing. Tasks of one call stand in line in the order of the items.
--
-- KEYS   config    hash          {base}:config
-- KEYS   task      prefix/hash   {base}:task:     id
-- KEYS   payload   prefix/string {base}:payload:  id
-- KEYS   ready     prefix/zset   {base}:ready:    lane
-- KEYS   lanes     set           {base}:lanes
-- KEYS   wake      prefix/list   {base}:wake:     lane
-- KEYS   delayed   zset          {base}:delayed
-- KEYS   events    stream        {base}:events
-- KEYS   counters  hash          {base}:counters
-- ARGV   rid       id
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- ITEM   payload   bytes 0..1048576
-- PAIR   kind      id
-- PAIR   priority  int 0..9      ?=5
-- PAIR   lane      lane          ?=any
-- PAIR   delay_ms  int 0..315360000000 ?=0
-- PAIR   user      id
-- PAIR   tags      ids 1..16
-- PAIR   max_attempts            int 1..1000
-- PAIR   backoff_base_ms         int 0..86400000
-- PAIR   backoff_multiplier_pct  int 100..10000
-- PAIR   backoff_cap_ms          int 0..604800000
-- PAIR   jitter_pct              int 0..100
-- PAIR   headers   bytes 0..4096
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      created
-- EACH   item      exists
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.enqueued
-- COST   11 + n commands, O(n log m)
-- INCLUDE open_queue emit add_counts push_wake line_up make_ready delay_until

local conf, refused = open_queue()
if refused then return refused end

local keys, seen, answers = {}, {}, {}
for i = 1, item_count do keys[i] = task .. item_id[i] end
local some_known = redis.call('EXISTS', unpack(keys)) > 0

if not conf.exists then redis.call('HSET', config, 'layout', LAYOUT, 'layout_min', LAYOUT, 'clock', 'server') end
local place = redis.call('HINCRBY', config, 'place', item_count) - item_count
local created, by_lane, payloads = {}, {}, {}
for i = 1, item_count do
  local id, own, stamp = item_id[i], item_pairs[i], rid .. '/' .. i
  local known = seen[id] or (some_known and redis.call('HGET', keys[i], 'rid'))
  if known then
    answers[i] = { known == stamp and 'created' or 'exists' }
  else
    seen[id], answers[i], created[#created + 1] = stamp, { 'created' }, id
    redis.call('HSET', keys[i], 'rid', stamp, 'created_ms', conf.now_text, unpack(own))
    if #item_payload[i] > 1024 then redis.call('HSET', keys[i], 'size', #item_payload[i]) end
    payloads[#payloads + 1] = payload .. id
    payloads[#payloads + 1] = item_payload[i]
    local lane = own.lane or 'any'
    if own.delay_ms then
      delay_until(conf, conf.now + own.delay_ms, id, lane)
    else
      line_up(by_lane, lane, (own.priority or 5) * BAND + place + i, id)
    end
  end
end
if #created > 0 then
  redis.call('MSET', unpack(payloads))
  make_ready(by_lane)
  emit(conf, 'task.enqueued', table.concat(created, ' '), '')
  add_counts({ enqueued = #created })
end
return { 'ok', conf.now, answers }
