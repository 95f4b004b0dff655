-- queue.deregister.v1: remove a worker that stops. The named tasks return to their old places, and no attempt is spent,
-- as in release, whatever the state of the worker. Its other tasks are lost at the end of their leases.
--
-- ARGV   worker    id
-- ARGV   incarnation name
-- ARGV   reason    name          ?=stopped
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- ITEM   token     id
-- GROUP  item      0..1000
-- RETURN deregistered now_ms:int
-- RETURN unregistered
-- RETURN stale
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  worker.deregistered task.released task.snoozed task.cancelled task.removed task.unblocked task.dead
-- ROLE   work
-- REPLAY state
-- FLAGS  allow-oom
-- COST   9 commands, 4 + 3n more for tasks, 2 more if there are limits, 1 for each limit of a task, 4 for each limit queue that opens and 3 for each of up to 100 tasks that leave it, up to 100 + 2n limit queues and tasks, O(n log m); at most 34,000 commands, 460,000 steps
-- LATE   answer_waiters cancel_task line_up settled_as

local ctx, refused = open()
if refused then return refused end
if item_count > 0 then
  return_leases(ctx, item_id, item_token, nil)
  close(ctx)
end
local row = redis.call('HMGET', worker_hash .. worker, 'incarnation', 'replaced')
if not row[1] then
  local ended = string.find(' ' .. (row[2] or '') .. ' ', ' ' .. incarnation .. ' ', 1, true)
  if ended then return { 'deregistered', ctx.now } end
  return { 'unregistered' }
end
if row[1] ~= incarnation then return { 'stale' } end

redis.call('ZREM', workers, worker)
retire_worker(worker, false)
emit(ctx, 'worker.deregistered', worker, 'reason=' .. reason)
return { 'deregistered', ctx.now }
