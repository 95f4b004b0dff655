-- queue.fire.v1: fire a schedule: enqueue its task and store the next time. Of all callers, one succeeds: the schedule
-- must have revision `rev` and the next time `nominal_ms`. The others get `stale`, or `early` before that time. With
-- `late`, the time is not made up for and counts as missed, as do `missed` more times before `next_ms` (0: there is
-- none). `id` names the task; the caller takes its envelope from the schedule. If the call is sent again, it returns
-- `stale` once a later time has fired.
--
-- ARGV   name      name
-- ARGV   rid       id
-- ARGV   rev       int 1..
-- ARGV   nominal_ms int 1..
-- ARGV   next_ms   int 0..
-- ARGV   late      bool          ?=0
-- ARGV   missed    int 0..1000000000 ?=0
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- ITEM   payload   bytes 0..1048576
-- PAIRS  task schedule
-- GROUP  item      0..1
-- RETURN fired     now_ms:int
-- RETURN exists    now_ms:int
-- RETURN skipped   now_ms:int
-- RETURN missed    now_ms:int
-- RETURN stale     now_ms:int
-- RETURN early     now_ms:int
-- RETURN not_found now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK ADEQ_DRAINING
-- EVENT  schedule.fired schedule.skipped schedule.missed task.enqueued task.unblocked task.dead task.cancelled task.removed task.limited task.alert
-- ROLE   work
-- REPLAY rid
-- COST   22 commands, up to 3 more if it is due again within 10 s, 3 more for each of its unfinished tasks, 10 if it waits for them, up to 20 if it cancels them, and more for the task's options, as in enqueue, O(log m); at most 930 commands, 11,000 steps
-- LATE   answer_waiters cancel_task retain

local ctx, refused = open()
if refused then return refused end
local key = schedule .. name
local row = redis.call('HMGET', key, 'rev', 'next_ms', 'call')
if not row[1] then redis.call('ZREM', schedules, name) end  -- an evicting server may have taken the rest
if not row[1] then return { 'not_found', ctx.now } end
local by, answered = string.match(row[3] or '', '^(%S+) (%l+)$')
if by == rid then return { answered, ctx.now } end
if tonumber(row[1]) ~= rev or tonumber(row[2]) ~= nominal_ms then return { 'stale', ctx.now } end
if nominal_ms > ctx.now then return { 'early', ctx.now } end
if next_ms > 0 and next_ms <= nominal_ms then return refuse('next_ms', next_ms, '0, or later than nominal_ms') end
if not late and item_count == 0 then return refuse('item_count', 0, '1, unless late') end
local at_text, id, seed = string.format('%.0f', nominal_ms), nil, nil
if not late then id, seed = firing_id(item_id[1], at_text) end
refused = ctx.settings.mode == 'draining' and not late and refuse_new(ctx, { id }, { {} }, { rid .. '/1' })
if refused then return refused end

local status, passed = 'missed', missed + (late and 1 or 0)
if passed > 0 then
  redis.call('HINCRBY', key, 'missed', passed)
  emit(ctx, 'schedule.missed', name, 'count=' .. passed .. ' next_ms=' .. string.format('%.0f', next_ms))
end
if not late then
  if seed then note_taken_id(ctx, item_id[1], seed) end
  status = fire_once(ctx, id, at_text, item_payload[1], item_pairs[1], rid .. '/1')
end
plan_firing(ctx, next_ms)
redis.call('HSET', key, 'call', rid .. ' ' .. status)
close(ctx)
return { status, ctx.now }
