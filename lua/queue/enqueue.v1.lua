-- queue.enqueue.v1: put tasks into a queue, to be done at once or later.
-- Ids are the caller's. The same id under the same rid and index is a replay and answers `created` again; any other
-- use of a known id answers `exists` and changes nothing. `deduplicated` names the task that stands for this one: with the
-- same idempotency key (for a day unless configured), the same unique key (until that task has ended), or the same scope
-- (until its first lease; with coalesce=last this payload takes the place of its own). Tasks of one call stand in line in
-- the order of the items.
--
-- KEYS   config    hash          {base}:config
-- KEYS   task      prefix/hash   {base}:task:     id
-- KEYS   payload   prefix/string {base}:payload:  id
-- KEYS   ready     prefix/zset   {base}:ready:    lane
-- KEYS   lanes     set           {base}:lanes
-- KEYS   wake      prefix/list   {base}:wake:     lane
-- KEYS   delayed   zset          {base}:delayed
-- KEYS   deadlines zset          {base}:deadlines
-- KEYS   once      hash          {base}:once
-- KEYS   once_due  zset          {base}:once:due
-- KEYS   by_user   prefix/zset   {base}:by:user:  id
-- KEYS   by_tag    prefix/zset   {base}:by:tag:   id
-- KEYS   children  prefix/zset   {base}:children: id
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
-- PAIR   fallback  lane
-- PAIR   fallback_after_ms int 0..315360000000
-- PAIR   delay_ms  int 0..315360000000 ?=0
-- PAIR   run_after_ms  int 0..   ?=0
-- PAIR   expires_at_ms int 1..
-- PAIR   timeout_ms int 1..315360000000
-- PAIR   user      id
-- PAIR   tags      ids 1..16
-- PAIR   parent    id
-- PAIR   idempotency_key id
-- PAIR   unique    id
-- PAIR   scope     id
-- PAIR   coalesce  enum first|last ?=first
-- PAIR   result_ms int 0..315360000000
-- PAIR   max_attempts            int 1..1000
-- PAIR   backoff_base_ms         int 0..86400000
-- PAIR   backoff_multiplier_pct  int 100..10000
-- PAIR   backoff_cap_ms          int 0..604800000
-- PAIR   jitter_pct              int 0..100
-- PAIR   headers   bytes 0..4096
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      created
-- EACH   item      exists
-- EACH   item      deduplicated id:id
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK ADEQ_DRAINING
-- EVENT  task.enqueued
-- COST   11 + n commands, 8 + 4n delayed ones, 5 more for each idempotency key, 3 for a scope, 1 for a user, tag, parent, unique key, O(n log m)
-- INCLUDE open_queue emit add_counts push_wake line_up make_ready index_task write_record
-- RARELY create_queue push_due delay_until await_deadline known_as find_twin refuse_new sweep_once hold_once hold_keys
-- RARELY merge_task

local conf, refused = open_queue()
if refused then return refused end
local stamps, keys = {}, {}
for i = 1, item_count do
  local own = item_pairs[i]
  if not own.fallback ~= not own.fallback_after_ms then
    return refuse('item[' .. i .. '].fallback', own.fallback, 'a lane, and given together with fallback_after_ms')
  end
  stamps[i], keys[i] = rid .. '/' .. i, task .. item_id[i]
end
if conf.draining then refused = refuse_new(conf, item_id, item_pairs, stamps) end
if refused then return refused end

conf.some_known = redis.call('EXISTS', unpack(keys)) > 0
if not conf.exists then create_queue(conf) end
local place = redis.call('HINCRBY', config, 'place', item_count) - item_count
local answers, created, seen, payloads, by_lane, by_index = {}, {}, {}, {}, {}, {}
for i = 1, item_count do
  local id, own, twin, by = item_id[i], item_pairs[i], nil, nil
  local keyed = own.idempotency_key or own.unique or own.scope
  local known = seen[id] and 'exists' or (conf.some_known and known_as(id, stamps[i]))
  if keyed and known ~= 'created' then twin, by = find_twin(conf, own, stamps[i]) end
  if twin and (by == 'rid' or not known) then
    answers[i] = { 'deduplicated', twin }
    merge_task(conf, twin, by, stamps[i], own, item_payload[i])
  elseif known then
    answers[i], seen[id] = { known }, true
  else
    answers[i], seen[id], created[#created + 1] = { 'created' }, true, id
    if own.scope then
      redis.call('SET', payload .. id, item_payload[i])  -- for a later item may replace it
    else
      payloads[#payloads + 1], payloads[#payloads + 2] = payload .. id, item_payload[i]
    end
    write_record(id, stamps[i], conf, own, #item_payload[i])
    if keyed then hold_keys(conf, id, own, false) end
    index_task(conf, by_index, id, own)
    local due_ms = math.max(conf.now + (own.delay_ms or 0), own.run_after_ms or 0)
    if due_ms > conf.now then
      delay_until(conf, due_ms, id, own.lane or 'any')
    else
      line_up(by_lane, own.lane or 'any', (own.priority or 5) * BAND + place + i, id)
    end
    if own.fallback or own.expires_at_ms then await_deadline(conf, id, due_ms) end
  end
end
if conf.held then sweep_once(conf, 10 + 2 * conf.held) end
if #created > 0 then
  if #payloads > 0 then redis.call('MSET', unpack(payloads)) end
  for index, members in pairs(by_index) do redis.call('ZADD', index, unpack(members)) end
  make_ready(conf, by_lane)
  emit(conf, 'task.enqueued', table.concat(created, ' '), '')
  add_counts({ enqueued = #created })
end
return { 'ok', conf.now, answers }
