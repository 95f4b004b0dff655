-- queue.register.v1: register a worker under a new incarnation of its name. The newest incarnation owns the name. From
-- then on, calls of an older incarnation return `stale`, and so does a late repetition of its registration. A worker
-- that waits under the name is notified, so that it learns this. A request that the older incarnation has not heard is in
-- force for the newest one, which sends `heartbeat` before its first claim to get it.
--
-- ARGV   worker    id
-- ARGV   incarnation name
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- PAIR   about.hostname bytes 0..200
-- PAIR   about.pid      int 0..
-- PAIR   about.version  bytes 0..100
-- PAIR   about.layout   int 1..
-- PAIR   about.capacity int 0..100000
-- PAIR   about.group    name
-- PAIR   about.instance name
-- PAIR   about.capabilities ids 1..64
-- PAIR   about.lanes    lanes 1..64
-- GROUP  about     0..1
-- RETURN registered now_ms:int
-- RETURN stale
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  worker.registered
-- ROLE   work
-- REPLAY idempotent
-- FLAGS  allow-oom
-- COST   14 commands; at most 15 commands, 1,200 steps

local ctx, refused = open()
if refused then return refused end
local row = redis.call('HMGET', worker_hash .. worker, 'incarnation', 'replaced')
if string.find(' ' .. (row[2] or '') .. ' ', ' ' .. incarnation .. ' ', 1, true) then return { 'stale' } end

redis.call('ZADD', workers, ctx.now_text, worker)
if row[1] ~= incarnation then
  retire_worker(worker, true)
  redis.call('HSET', worker_hash .. worker, 'incarnation', incarnation, 'registered_ms', ctx.now_text,
    unpack(about_pairs[1] or {}))  -- at most 16: two for each pair
  redis.call('PERSIST', worker_hash .. worker)
  if row[1] then push_control(ctx, worker) end
  emit(ctx, 'worker.registered', worker, 'incarnation=' .. incarnation)
end
return { 'registered', ctx.now }
