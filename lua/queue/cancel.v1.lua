-- queue.cancel.v1: end waiting tasks at once, and mark running ones. The worker of a running task is notified, and the
-- task ends as cancelled in every way except ack. A dead task leaves the dead set and is cancelled. Dead children of a
-- tree stay dead. If the same call is sent again, it returns the same answer.
--
-- ARGV   rid       id            ?=
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ARGV   tree      bool          ?=0
-- ITEM   id        id
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      cancelled
-- EACH   item      cancelling
-- EACH   item      finished
-- EACH   item      not_found
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.cancelled task.removed task.unblocked task.dead
-- ROLE   produce
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   11 + 11n commands, 1 more for trees, 3 for a task in a limit queue, 8 for each of up to 100 children, 8 more for each task that others wait for, 5 to 10 for each of up to 100 waiting tasks, O(n log m); at most 19,000 commands, 210,000 steps
-- EARLY  find_set lane_emptied push_control read_record state_of trim_set
-- LATE   line_up

local ctx, refused = open()
if refused then return refused end

local answers = replayed_answers(ctx, 'cancel', item_count)
if answers then return { 'ok', ctx.now, answers } end
answers = {}
if tree and ctx.exists then redis.call('HSETNX', config, 'trees', ctx.now_text) end  -- stamps used to be times: stay above them
local stamp = tree and ctx.exists and string.format('%.0f', redis.call('HINCRBY', config, 'trees', 1))
for i = 1, item_count do
  answers[i] = { cancel_one(ctx, item_id[i], true) }
  if stamp then
    begin_chains(ctx)
    if answers[i][1] ~= 'not_found' then redis.call('HSET', task .. item_id[i], 'pruned', stamp) end
    note_end(ctx, 't', item_id[i], nil, stamp)
  end
end
if ctx.exists then note_answers(ctx, 'cancel', answers) end
close(ctx)
return { 'ok', ctx.now, answers }
