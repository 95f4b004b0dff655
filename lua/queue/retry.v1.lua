-- queue.retry.v1: make dead tasks ready again, behind all others: attempts and crashes count from 0, and they no longer
-- expire. `conflict` names the task that has the same unique key or scope now. If the same call is sent again, it
-- returns the same answer.
--
-- ARGV   rid       id            ?=
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      retried
-- EACH   item      conflict id:id
-- EACH   item      not_dead
-- EACH   item      not_found
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.retried
-- ROLE   operate
-- REPLAY rid
-- COST   12 + 6n commands, 1 more with fair shares and 2 for each user, O(n log m); at most 17,000 commands, 98,000 steps
-- EARLY  add_count write_counts await_deadline emit push_due

local ctx, refused = open()
if refused then return refused end

local answers, by_lane, retried = replayed_answers(ctx, 'retry', item_count), {}, 0
if answers then return { 'ok', ctx.now, answers } end
answers = {}
local place = redis.call('HINCRBY', config, 'place', item_count) - item_count
for i = 1, item_count do
  local id = item_id[i]
  local row = redis.call('HMGET', task .. id, 'created_ms', 'unique', 'scope', 'lane', 'priority', 'ties', 'user')
  local holder = holder_of(id, row[2] and 'unique:' .. row[2]) or holder_of(id, row[3] and 'scope:' .. row[3])
  if not row[1] then
    answers[i] = { 'not_found' }
  elseif not redis.call('ZSCORE', dead, id) then
    answers[i] = { 'not_dead' }
  elseif holder then
    answers[i] = { 'conflict', holder }
  else
    answers[i], retried = { 'retried' }, retried + 1
    revive_task(ctx, id, row[2], row[3])
    line_up_last(ctx, by_lane, id, place + i, row[4], row[5], row[7])
    if row[6] then await_deadline(ctx, id, ctx.now) end
    emit(ctx, 'task.retried', id, 'reason=by_hand')
  end
end
note_answers(ctx, 'retry', answers)
make_ready(ctx, by_lane)
if retried > 0 then add_count(ctx, 'revived', retried) end
write_counts(ctx)
return { 'ok', ctx.now, answers }
