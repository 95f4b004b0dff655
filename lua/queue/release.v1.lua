-- queue.release.v1: give leased tasks back at no attempt cost, each to its old place in line.
-- Past its deadline a lease is lost here, even if nobody has taken it back yet. A task that was being cancelled ends as
-- cancelled. Replays answer the same.
--
-- KEYS   config    hash          {base}:config
-- KEYS   running   hash          {base}:running
-- KEYS   leases    zset          {base}:leases
-- KEYS   task      prefix/hash   {base}:task:     id
-- KEYS   ready     prefix/zset   {base}:ready:    lane
-- KEYS   lanes     set           {base}:lanes
-- KEYS   wake      prefix/list   {base}:wake:     lane
-- KEYS   finished  zset          {base}:finished
-- KEYS   events    stream        {base}:events
-- KEYS   counters  hash          {base}:counters
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- ITEM   token     id
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      released place:int
-- EACH   item      cancelled
-- EACH   item      lease_lost
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.released task.cancelled
-- FLAGS  allow-oom
-- COST   11 + 2n commands, O(n log m)
-- INCLUDE open_queue emit add_counts push_wake line_up make_ready read_lease settled_as settled_before
-- INCLUDE end_leases cancel_task

local conf, refused = open_queue()
if refused then return refused end

local held = redis.call('HMGET', running, unpack(item_id))
local deadlines = redis.call('ZMSCORE', leases, unpack(item_id))
local answers, ended, by_lane, tally = {}, {}, {}, {}
for i = 1, item_count do
  local id, lease = item_id[i], read_lease(held[i])
  local lost = not lease or lease.token ~= item_token[i] or tonumber(deadlines[i] or 0) <= conf.now
  if lost or ended[id] then
    answers[i] = settled_before(id, item_token[i], { released = true, cancelled = true })
  else
    ended[#ended + 1], ended[id] = id, true
    answers[i] = lease.cancelling and { 'cancelled' } or { 'released', lease.score % BAND }
    redis.call('HSET', task .. id, 'ran', lease.ran, 'deliveries', lease.delivery, 'ready_ms', conf.now_text,
      'settled', settled_as(lease.token, answers[i]))
    if lease.cancelling then
      cancel_task(conf, id, tally)
    else
      line_up(by_lane, lease.lane, lease.score, id)
      emit(conf, 'task.released', id, '')
      tally.released = (tally.released or 0) + 1
    end
  end
end
end_leases(ended)
make_ready(by_lane)
add_counts(tally)
return { 'ok', conf.now, answers }
