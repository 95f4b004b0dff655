-- queue.ack.v1: complete leased tasks and keep their results. `result_dropped` has also completed, but the server's
-- memory is full and a result above 4 KiB was not kept. An expired lease that no call has taken back yet still
-- completes. A repeated call returns the same answer. With another result than the kept one, it returns `already`, but
-- `completed` if the kept result is deleted. Any token other than the current lease's returns `lease_lost` and changes
-- nothing.
--
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- ITEM   token     id
-- ITEM   result    bytes 0..1048576
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      completed
-- EACH   item      result_dropped
-- EACH   item      already
-- EACH   item      lease_lost
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.completed task.removed task.unblocked task.dead task.cancelled
-- ROLE   work
-- REPLAY token
-- FLAGS  allow-oom
-- COST   10 + n commands, 1 more if payloads are not kept and n if they are kept for a time, 8 more for each task that others wait for, 5 to 10 for each of up to 100 waiting tasks, 2 more if there are limits, 1 for each limit of a task, 4 for each limit queue that opens and 3 for each of up to 100 tasks that leave it, up to 100 + 2n limit queues and tasks, O(n log m); at most 40,000 commands, 470,000 steps
-- LATE   cancel_task line_up

-- The usual call: acks of plain tasks. It makes no functions but these.
local row, held
if source .. trace == '' then
  row = redis.call('HMGET', config, SETTING_NAMES)
  held = redis.call('HMGET', running, unpack(item_id))  -- at most 1,000: items
  local runs, now, now_text
  if row[1] and row.settings.events_max ~= '0' and (row.settings.limits or '0') == '0' then
    runs = plain_runs(row, held, item_id, item_token, item_result)
  end
  if runs then now, now_text = read_clock(row[1], row[2]) end
  if now then return { 'ok', now, complete_plain(row, now, now_text, item_id, item_token, item_result, runs) } end
end
-- LATE BODY

local ctx, refused = open(nil, row)
if refused then return refused end

local answers = ack_tasks(ctx, item_id, item_token, item_result, held)
close(ctx)
return { 'ok', ctx.now, answers }
