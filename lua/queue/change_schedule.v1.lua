-- queue.change_schedule.v1: change a schedule, as put_schedule does, but only if its `rev` is still `expect`: so nobody
-- overwrites a change that they have not seen. If it has another one, the answer is `stale` with this one, and nothing is
-- changed. Firing is no change. `not_found` has the `rev` 0. If the same call is sent again, it returns the same answer.
--
-- ARGV   name      name
-- ARGV   rid       id
-- ARGV   expect    int 1..
-- ARGV   timing    bytes 1..4096
-- ARGV   envelope  bytes 0..16384 ?=
-- ARGV   payload   bytes 0..1048576 ?=
-- ARGV   overlap   enum skip|buffer_one|buffer_all|cancel_other|allow ?=skip
-- ARGV   catch_up_ms int 1000..315360000000 ?=3600000
-- ARGV   jitter_ms int 0..86400000 ?=0
-- ARGV   next_ms   int 0..
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- RETURN changed   now_ms:int rev:int
-- RETURN unchanged now_ms:int rev:int
-- RETURN stale     now_ms:int rev:int
-- RETURN not_found now_ms:int rev:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  schedule.changed
-- ROLE   operate
-- REPLAY rid
-- COST   14 commands, up to 3 more if it is due within 10 s, O(log m); at most 17 commands, 170 steps

local ctx, refused = open()
if refused then return refused end
local before, rev = string.match(done_before(ctx, 'change_schedule') or '', '^([%l_]+)=(%d+)$')
if before then return { before, ctx.now, tonumber(rev) } end

rev = tonumber(redis.call('HGET', schedule .. name, 'rev') or 0)
local status = rev == 0 and 'not_found' or 'stale'
local plan = { 'timing', timing, 'envelope', envelope, 'payload', payload, 'overlap', overlap,
  'catch_up_ms', string.format('%.0f', catch_up_ms), 'jitter_ms', string.format('%.0f', jitter_ms) }
if rev == expect then status, rev = store_schedule(ctx, plan) end
if ctx.exists then note_done(ctx, 'change_schedule', status .. '=' .. rev) end
return { status, ctx.now, rev }
