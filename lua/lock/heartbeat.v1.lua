-- lock.heartbeat.v1: a sign of life of what has permits to give: an agent, for instance. One that was offline gives
-- them out again.
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
-- ITEM   resource  id
-- GROUP  item      1..100
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      active
-- EACH   item      draining
-- EACH   item      no_capacity
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  lock.promoted lock.expired lock.cancelled
-- ROLE   work
-- REPLAY idempotent
-- FLAGS  allow-oom
-- COST   4 + 2n commands; at most 230 commands, 2,700 steps
-- INCLUDE base_time open_domain note_line read_capacity write_capacity
-- RARELY record_of read_request live_request members_of set_record remember emit parts_text tell note_freed permits_of
-- RARELY use_permits forget_search end_request end_wait set_deadline members_below waits_as strongest lacks_support line_of
-- RARELY is_held_against is_behind find_obstacle next_fence link_request write_request grant read_rules hand_over
-- RARELY promote promote_freed end_rids sweep_ended end_due create_base mirror_hint close_domain

local conf, refused = open_domain({})
if refused then return refused end
end_due(conf, 16)
local answers = {}
for i, resource in ipairs(item_resource) do
  local room = read_capacity(conf, resource)
  if room then
    if room.silent then note_line(conf, resource) end
    room.seen_ms = conf.now_text
    write_capacity(resource, room)
  end
  answers[i] = { not room and 'no_capacity' or room.status == 'draining' and 'draining' or 'active' }
end
conf.lines = nil -- it has read them before
promote_freed(conf)
close_domain(conf)
return { 'ok', conf.now, answers }
