-- queue.put_schedule.v1: create or change a schedule: the times at which a task is enqueued, the task, and what happens
-- if an earlier task has not ended. The scripts know no calendar: the caller computes each next time from `timing`, and
-- `catch_up_ms`, `jitter_ms` and `envelope` (the task's pairs) are stored for the program that fires. `next_ms` is the
-- first time from now on, 0 for none. If the timing is unchanged, so is the next time. A pause stays in force. If
-- nothing differs, the answer is `unchanged`. Each change has a new `rev`, which `fire` must send. A new schedule is
-- refused if the queue has partitions that `epoch` does not know: it may exist in another partition.
--
-- ARGV   name      name
-- ARGV   rid       id
-- ARGV   timing    bytes 1..4096
-- ARGV   envelope  bytes 0..16384 ?=
-- ARGV   payload   bytes 0..1048576 ?=
-- ARGV   overlap   enum skip|buffer_one|buffer_all|cancel_other|allow ?=skip
-- ARGV   catch_up_ms int 1000..315360000000 ?=3600000
-- ARGV   jitter_ms int 0..86400000 ?=0
-- ARGV   next_ms   int 0..
-- ARGV   epoch     int 0..       ?=0
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- RETURN created   now_ms:int rev:int
-- RETURN changed   now_ms:int rev:int
-- RETURN unchanged now_ms:int rev:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK ADEQ_EPOCH
-- EVENT  schedule.created schedule.changed
-- ROLE   operate
-- REPLAY rid
-- COST   14 commands, up to 3 more if it is due within 10 s, O(log m); at most 16 commands, 180 steps

local ctx, refused = open()
if refused then return refused end
local before, rev = string.match(done_before(ctx, 'put_schedule') or '', '^(%l+)=(%d+)$')
if before then return { before, ctx.now, tonumber(rev) } end

if epoch < ctx.settings.epoch and redis.call('EXISTS', schedule .. name) == 0 then return refuse_epoch(ctx) end
local plan = { 'timing', timing, 'envelope', envelope, 'payload', payload, 'overlap', overlap,
  'catch_up_ms', string.format('%.0f', catch_up_ms), 'jitter_ms', string.format('%.0f', jitter_ms) }
local status
status, rev = store_schedule(ctx, plan)
note_done(ctx, 'put_schedule', status .. '=' .. rev)
return { status, ctx.now, rev }
