-- queue.run_now.v1: make delayed tasks due at once: those that wait for their time, for a retry, or that were snoozed.
-- They are ready, behind all others. The sleeps of a
-- task with steps end. Other tasks stay as they are: a task that waits for other tasks or for a limit is
-- `blocked`. `expired`: it may not start any more, and the next claim moves it to the dead set. If the same call is sent
-- again, it returns the same answer.
--
-- ARGV   rid       id            ?=
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      ready
-- EACH   item      not_delayed state:text
-- EACH   item      expired
-- EACH   item      not_found
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.promoted
-- ROLE   produce
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   11 + 8n commands, 1 more with fair shares and 2 for each user, O(n log m); at most 15,000 commands, 180,000 steps

local ctx, refused = open()
if refused then return refused end

local answers, by_lane, promoted = replayed_answers(ctx, 'run_now', item_count), {}, {}
if answers then return { 'ok', ctx.now, answers } end
answers = {}
for i = 1, item_count do
  local id = item_id[i]
  local record = read_record(id)
  local set, score = find_set(id, record)
  local state = promoted[id] and 'ready' or state_of(ctx, set, score, record)
  if not state then
    answers[i] = { 'not_found' }
  elseif state ~= 'delayed' then
    answers[i] = { 'not_delayed', state }
  elseif not record.deliveries and tonumber(record.expires_at_ms or MAX_SAFE) <= ctx.now then
    answers[i] = { 'expired' }
  else
    answers[i] = { 'ready' }
    redis.call('ZREM', delayed, id)
    if record.durable then end_sleeps(ctx, id) end
    line_up_last(ctx, by_lane, id, redis.call('HINCRBY', config, 'place', 1), record.lane, record.priority, record.user)
    if record.ties then await_deadline(ctx, id, ctx.now) end
    promoted[#promoted + 1], promoted[id] = id, true
  end
end
if ctx.exists then note_answers(ctx, 'run_now', answers) end
if #promoted > 0 then
  make_ready(ctx, by_lane)
  emit(ctx, 'task.promoted', table.concat(promoted, ' '), 'reason=by_hand')
  add_count(ctx, 'promoted', #promoted)
  write_counts(ctx)
end
return { 'ok', ctx.now, answers }
