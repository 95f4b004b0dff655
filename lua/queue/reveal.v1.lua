-- queue.reveal.v1: write an event that says who is about to see what the data tiers of tasks hide. Programs that show
-- tasks to people call it first, then `get` and `log`. If the same call is sent again, it writes no second event and
-- returns the same answer. The events of a queue whose setting `events_max` is 0 are not written.
--
-- ARGV   rid       id            ?=
-- ARGV   actor     label
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      revealed
-- EACH   item      not_found
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.revealed
-- ROLE   operate
-- REPLAY rid
-- COST   8 + n commands, O(n); at most 1,200 commands, 12,000 steps

local ctx, refused = open()
if refused then return refused end

local answers, there = replayed_answers(ctx, 'reveal', item_count), {}
if answers then return { 'ok', ctx.now, answers } end
answers = {}
for i, id in ipairs(item_id) do
  local found = redis.call('HEXISTS', task .. id, 'created_ms') == 1
  answers[i] = { found and 'revealed' or 'not_found' }
  if found then there[#there + 1] = id end
end
note_answers(ctx, 'reveal', answers)
if #there > 0 then emit(ctx, 'task.revealed', table.concat(there, ' '), 'actor=' .. actor) end
return { 'ok', ctx.now, answers }
