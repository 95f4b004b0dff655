-- lock.reap.v1: end what is overdue, hand it to the next in line, and forget what has ended. The other scripts do it
-- on the way; this is for domains where nobody asks. Idempotent in state, not in its count. more=1: there may be more.
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
-- ARGV   limit     int 1..1000    ?=100
-- ARGV   trace     bytes 0..128   ?=
-- ARGV   source    bytes 0..200   ?=
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN ok        now_ms:int ended:int more:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  lock.promoted lock.expired lock.cancelled
-- ROLE   work
-- REPLAY state
-- FLAGS  allow-oom
-- COST   6 commands, 6 more for each that ends and that nobody waits for; at most 2,600 commands, 140,000 steps
-- INCLUDE base_time open_domain
-- RARELY note_line record_of read_request live_request members_of set_record remember emit parts_text tell note_freed
-- RARELY permits_of read_capacity write_capacity use_permits forget_search end_request end_wait set_deadline members_below waits_as
-- RARELY strongest lacks_support line_of is_held_against is_behind find_obstacle next_fence link_request write_request
-- RARELY grant read_rules hand_over promote promote_freed end_rids sweep_ended end_due create_base mirror_hint close_domain

local conf, refused = open_domain({})
if refused then return refused end
local count = end_due(conf, limit)
close_domain(conf)
return { 'ok', conf.now, count, conf.due <= conf.now and 1 or 0 }
