-- lock.downgrade.v1: make exclusive holds of a request shared, under the same fence, and let those in that may follow.
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
-- ARGV   rid       id
-- ARGV   trace     bytes 0..128   ?=
-- ARGV   source    bytes 0..200   ?=
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN downgraded now_ms:int
-- RETURN waiting   now_ms:int
-- RETURN lost      now_ms:int
-- RETURN unknown   now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  lock.promoted lock.expired lock.cancelled
-- ROLE   work
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   9 commands where nobody waits; at most 580 commands, 13,000 steps
-- INCLUDE base_time open_domain record_of members_of link_request
-- RARELY note_line read_request live_request set_record remember emit parts_text tell note_freed permits_of
-- RARELY read_capacity write_capacity use_permits forget_search end_request end_wait set_deadline members_below waits_as strongest
-- RARELY lacks_support line_of is_held_against is_behind find_obstacle next_fence write_request grant read_rules
-- RARELY hand_over promote promote_freed end_rids sweep_ended end_due end_overdue catch_up create_base mirror_hint close_domain

local conf, refused = open_domain({ rid })
if refused then return refused end
catch_up(conf, { rid })
local request = live_request(conf, rid)
local status = request and 'waiting' or record_of(conf, rid) and 'lost' or 'unknown'
if request and request.order == '-' then
  status = 'downgraded'
  redis.call('ZREM', graph, unpack(members_of(rid, request)))  -- at most 65: members of a request
  note_freed(conf, request) -- as it was: what it had shared before lets nobody in
  for _, part in ipairs(request.parts) do
    if part.code == 'x' then part.code = 's' end
  end
  link_request(conf, rid, request)
  write_request(conf, rid, request)
  promote_freed(conf)
end
close_domain(conf)
return { status, conf.now }
