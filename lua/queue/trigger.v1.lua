-- queue.trigger.v1: enqueue a schedule's task outside its times: now, or for a past time (`at_ms`). The overlap policy
-- applies. The next time stays, and a paused schedule stays paused. `rev` must be the schedule's; otherwise the answer
-- is `stale`. `id` names the task. If the same call is sent again, it returns the same answer.
--
-- ARGV   name      name
-- ARGV   rid       id
-- ARGV   rev       int 1..
-- ARGV   at_ms     int 0..       ?=0
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- ITEM   payload   bytes 0..1048576
-- PAIRS  task schedule
-- GROUP  item      1..1
-- RETURN fired     now_ms:int
-- RETURN exists    now_ms:int
-- RETURN skipped   now_ms:int
-- RETURN stale     now_ms:int
-- RETURN not_found now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK ADEQ_DRAINING
-- EVENT  schedule.fired schedule.skipped task.enqueued task.unblocked task.dead task.cancelled task.removed task.limited task.alert
-- ROLE   operate
-- REPLAY rid
-- COST   23 commands, 3 more for each of its unfinished tasks, 10 if it waits for them, up to 20 if it cancels them, and more for the task's options, as in enqueue, O(log m); at most 940 commands, 11,000 steps
-- LATE   answer_waiters cancel_task done_before note_done retain

local ctx, refused = open()
if refused then return refused end
local before = done_before(ctx, 'trigger')
if before then return { before, ctx.now } end
local found = redis.call('HGET', schedule .. name, 'rev')
if not found then return { 'not_found', ctx.now } end
if tonumber(found) ~= rev then return { 'stale', ctx.now } end
local at_text = at_ms > 0 and string.format('%.0f', at_ms) or ctx.now_text
local id, seed = firing_id(item_id[1], at_text)
refused = ctx.settings.mode == 'draining' and refuse_new(ctx, { id }, { {} }, { rid .. '/1' })
if refused then return refused end

if seed then note_taken_id(ctx, item_id[1], seed) end
local status = fire_once(ctx, id, at_text, item_payload[1], item_pairs[1], rid .. '/1')
note_done(ctx, 'trigger', status)
close(ctx)
return { status, ctx.now }
