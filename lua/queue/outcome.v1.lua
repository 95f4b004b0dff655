-- queue.outcome.v1: return how tasks ended, for clients that wait for them. It reads the record or, if the record no
-- longer has it, the reply that a task with `reply` leaves for a time. For unfinished tasks, it returns their state,
-- and whether their end will be published. An empty value means none; for a dead task, the value is the error. The
-- answer stops before 4 MiB, but has at least one task; `missed` is the number of items left out at the end.
--
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- RETURN ok        now_ms:int missed:int items:list(item)
-- EACH   item      waiting state:text(ready|delayed|blocked|running|stalled) told:int
-- EACH   item      completed value:bytes
-- EACH   item      result_dropped
-- EACH   item      dead reason:name value:bytes
-- EACH   item      cancelled
-- EACH   item      removed
-- EACH   item      not_found
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   2 + 3n to 2 + 9n commands, O(n log m); at most 7,800 commands, 130,000 steps

local ctx, refused = open()
if refused then return refused end

local answers, bytes = {}, 0
for i = 1, item_count do
  local id = item_id[i]
  local record = read_record(id)
  local set, score = find_set(id, record)
  local state = state_of(ctx, set, score, record)
  if state and set ~= finished and set ~= dead then
    answers[i] = { 'waiting', state, record.reply and 1 or 0 }
  else
    answers[i] = ended_as(ctx, id, state, record or {})
  end
  if answers[i][1] ~= 'waiting' then bytes = bytes + 64 + #(answers[i][3] or answers[i][2] or '') end
  if bytes > 4194304 and i > 1 then
    answers[i] = nil
    return { 'ok', ctx.now, item_count - i + 1, answers }
  end
end
return { 'ok', ctx.now, 0, answers }
