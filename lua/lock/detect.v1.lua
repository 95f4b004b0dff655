-- lock.detect.v1: look for circles among those waiters whose search was too long when they came, with more patience;
-- end one wait of each by the policy. A waiter may move forward in line, never back. Each agent has its turn every 30
-- seconds at most. more=1: there are others.
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
-- ARGV   limit     int 1..16      ?=4
-- ARGV   visits    int 100..100000 ?=10000
-- ARGV   trace     bytes 0..128   ?=
-- ARGV   source    bytes 0..200   ?=
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN ok        now_ms:int checked:int more:int items:list(item)
-- EACH   item      deadlock rid:id circle:text
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  lock.queued lock.promoted lock.expired lock.cancelled lock.deadlock
-- ROLE   work
-- REPLAY goes_on
-- FLAGS  allow-oom
-- COST   6 commands, 30 and more for each waiter
-- INCLUDE base_time open_domain read_rules
-- RARELY note_line record_of read_request live_request members_of set_record remember emit parts_text tell note_freed
-- RARELY permits_of read_capacity write_capacity use_permits end_request end_wait set_deadline members_below waits_as
-- RARELY strongest lacks_support is_held_against is_behind find_obstacle next_fence link_request write_request grant
-- RARELY hand_over promote promote_freed end_rids sweep_ended end_due scan_line find_dependents place_before load_waits
-- RARELY is_stuck find_place circle_of choose_victim end_deadlock break_circle check_wait create_base close_domain

local conf, refused = open_domain({})
if refused then return refused end
end_due(conf, 100)
read_rules(conf)
local rids = redis.call('ZRANGE', unchecked, '-inf', conf.now, 'BYSCORE', 'LIMIT', 0, 65)
local answers, checked = {}, 0
for _, rid in ipairs(rids) do
  if checked == limit then break end
  conf.visits = visits
  local told = check_wait(conf, rid)
  if told ~= nil then checked = checked + 1 end
  if told then answers[#answers + 1] = told end
end
close_domain(conf)
return { 'ok', conf.now, checked, (rids[65] or checked == limit and rids[limit + 1]) and 1 or 0, answers }
