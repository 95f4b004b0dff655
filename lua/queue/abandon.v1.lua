-- queue.abandon.v1: delete dead tasks. If the same call is sent again, it deletes nothing more and returns the same
-- answer.
--
-- ARGV   rid       id            ?=
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      abandoned
-- EACH   item      not_dead
-- EACH   item      not_found
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.removed
-- ROLE   operate
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   14 + 5n commands, 1 more for each user, tag and parent, O(n log m); at most 25,000 commands, 230,000 steps
-- EARLY  add_count write_counts emit

local ctx, refused = open()
if refused then return refused end

local answers, gone, went = replayed_answers(ctx, 'abandon', item_count), {}, {}
if answers then return { 'ok', ctx.now, answers } end
answers = {}
local since = redis.call('ZMSCORE', dead, unpack(item_id))  -- at most 1,000: items
for i, id in ipairs(item_id) do
  if since[i] and not went[id] then
    answers[i], went[id], gone[#gone + 1] = { 'abandoned' }, true, id
  else
    local there = not went[id] and redis.call('HEXISTS', task .. id, 'created_ms') == 1
    answers[i] = { there and 'not_dead' or 'not_found' }
  end
end
if #gone > 0 then redis.call('ZREM', dead, unpack(gone)) end  -- at most 1,000: items
remove_tasks(ctx, gone, {}, 'abandoned')
note_answers(ctx, 'abandon', answers)
if #gone > 0 then
  emit(ctx, 'task.removed', table.concat(gone, ' '), 'reason=abandoned')
  add_count(ctx, 'abandoned', #gone)
  write_counts(ctx)
end
return { 'ok', ctx.now, answers }
