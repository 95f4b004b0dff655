-- lock.abort.v1: end waits that are part of a circle across domains, each only if it still waits. For a detector that
-- has read the stamps of all edges twice.
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
-- ARGV   circle    bytes 1..30000
-- ARGV   trace     bytes 0..128   ?=
-- ARGV   source    bytes 0..200   ?=
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- ITEM   rid       id
-- GROUP  item      1..100
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      aborted
-- EACH   item      not_waiting
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  lock.promoted lock.expired lock.cancelled lock.deadlock
-- ROLE   operate
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   5 + 4n commands; at most 630 commands, 95,000 steps
-- INCLUDE base_time open_domain record_of
-- RARELY note_line read_request live_request members_of set_record remember emit parts_text tell note_freed permits_of
-- RARELY read_capacity write_capacity use_permits forget_search end_request end_wait set_deadline members_below waits_as strongest
-- RARELY lacks_support line_of is_held_against is_behind find_obstacle next_fence link_request write_request grant
-- RARELY read_rules hand_over promote promote_freed end_rids sweep_ended end_due end_overdue catch_up end_deadlock
-- RARELY create_base mirror_hint close_domain

local conf, refused = open_domain(item_rid)
if refused then return refused end
catch_up(conf, item_rid)
local answers = {}
for i, rid in ipairs(item_rid) do
  local request = live_request(conf, rid)
  if request and request.order ~= '-' then end_deadlock(conf, rid, request, circle) end
  answers[i] = { record_of(conf, rid) == 'ended deadlock ' .. circle and 'aborted' or 'not_waiting' }
end
promote_freed(conf)
close_domain(conf)
return { 'ok', conf.now, answers }
