-- queue.deregister.v1: forget a worker that stops. Tasks that it still holds are released by release, or reaped.
--
-- KEYS   config    hash          {base}:config
-- KEYS   workers   zset          {base}:workers
-- KEYS   worker_hash prefix/hash {base}:worker:   name
-- KEYS   events    stream        {base}:events
-- ARGV   worker    name
-- ARGV   incarnation name
-- ARGV   reason    name          ?=stopped
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- RETURN deregistered now_ms:int
-- RETURN unregistered
-- RETURN stale
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  worker.deregistered
-- FLAGS  allow-oom
-- COST   9 commands
-- INCLUDE open_queue emit retire_worker

local conf, refused = open_queue()
if refused then return refused end
local row = redis.call('HMGET', worker_hash .. worker, 'incarnation', 'replaced')
if not row[1] then
  local ended = string.find(' ' .. (row[2] or '') .. ' ', ' ' .. incarnation .. ' ', 1, true)
  if ended then return { 'deregistered', conf.now } end
  return { 'unregistered' }
end
if row[1] ~= incarnation then return { 'stale' } end

redis.call('ZREM', workers, worker)
retire_worker(worker)
emit(conf, 'worker.deregistered', worker, 'reason=' .. reason)
return { 'deregistered', conf.now }
