-- lock.renew.v1: prolong holds, each by its own time from now on. What has ended stays ended. Sent again, it prolongs
-- again.
--
-- KEYS   config    hash           {base}:config
-- KEYS   requests  hash           {base}:requests
-- KEYS   graph     zset           {base}:graph
-- KEYS   deadlines zset           {base}:deadlines
-- KEYS   unchecked zset           {base}:unchecked
-- KEYS   capacity  hash           {base}:capacity
-- KEYS   rates     zset           {base}:rates
-- KEYS   events    stream         {base}:events
-- KEYS   channel   prefix/channel {base}:channel: id
-- ARGV   trace     bytes 0..128   ?=
-- ARGV   source    bytes 0..200   ?=
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- ITEM   rid       id
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      renewed deadline_ms:int
-- EACH   item      waiting
-- EACH   item      lost
-- EACH   item      unknown
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  lock.acquired lock.promoted lock.expired lock.cancelled
-- ROLE   work
-- REPLAY idempotent
-- FLAGS  allow-oom
-- COST   5 commands, O(n log m); at most 5 commands, 99,000 steps
-- INCLUDE base_time open_domain record_of read_request live_request mirror_hint close_domain
-- RARELY note_line members_of set_record remember emit parts_text tell note_freed permits_of read_capacity
-- RARELY write_capacity use_permits forget_search end_request end_wait set_deadline members_below waits_as strongest lacks_support
-- RARELY line_of is_held_against is_behind find_obstacle next_fence link_request write_request grant read_rules
-- RARELY hand_over promote promote_freed end_rids sweep_ended end_due end_overdue catch_up claim_grant create_base

local conf, refused = open_domain(item_rid)
if refused then return refused end
catch_up(conf, item_rid)
local answers, renewed = {}, {}
for i, rid in ipairs(item_rid) do
  local request = live_request(conf, rid)
  if not request then
    answers[i] = { record_of(conf, rid) and 'lost' or 'unknown' }
  elseif request.order ~= '-' then
    answers[i] = { 'waiting' }
  else
    if request.state == 'granted' then claim_grant(conf, rid, request) end
    answers[i] = { 'renewed', conf.now + request.ttl_ms }
    renewed[#renewed + 1] = answers[i][2]
    renewed[#renewed + 1] = rid
  end
end
if #renewed > 0 then redis.call('ZADD', deadlines, 'GT', unpack(renewed)) end  -- at most 2,000: two for each item
close_domain(conf)
return { 'ok', conf.now, answers }
