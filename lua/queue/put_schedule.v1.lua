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
-- COST   14 commands, up to 3 more if it is due within 10 s, O(log m); at most 16 commands, 170 steps

local ctx, refused = open()
if refused then return refused end
local key = schedule .. name
local before, rev = string.match(done_before(ctx, 'put_schedule') or '', '^(%l+)=(%d+)$')
if before then return { before, ctx.now, tonumber(rev) } end

local plan = { 'timing', timing, 'envelope', envelope, 'payload', payload, 'overlap', overlap,
  'catch_up_ms', string.format('%.0f', catch_up_ms), 'jitter_ms', string.format('%.0f', jitter_ms) }
local old = redis.call('HMGET', key, 'timing', 'envelope', 'payload', 'overlap', 'catch_up_ms', 'jitter_ms', 'rev', 'paused')
if not old[7] and epoch < ctx.settings.epoch then return refuse_epoch(ctx) end
local same = true
for i = 1, 6 do same = same and old[i] == plan[2 * i] end
local status = same and 'unchanged' or old[7] and 'changed' or 'created'
rev = tonumber(old[7])
if not same then
  if not ctx.exists then create_base() end
  rev = redis.call('HINCRBY', config, 'revisions', 1)
  redis.call('HSET', key, 'rev', rev, 'changed_ms', ctx.now_text, unpack(plan))  -- at most 12: the plan above
  if not old[7] then
    redis.call('HSET', key, 'created_ms', ctx.now_text)
    local still_open = redis.call('GET', runs .. name)
    if still_open then
      redis.call('HSET', key, 'open', still_open)
      redis.call('DEL', runs .. name)
    end
  end
  if not ctx.settings.schedules then redis.call('HSET', config, 'schedules', '1') end
  if old[1] ~= timing and not old[8] then plan_firing(ctx, next_ms) end
  emit(ctx, old[7] and 'schedule.changed' or 'schedule.created', name, 'rev=' .. rev)
end
note_done(ctx, 'put_schedule', status .. '=' .. rev)
return { status, ctx.now, rev }
