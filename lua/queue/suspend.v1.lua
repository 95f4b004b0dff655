-- queue.suspend.v1: end the runs of tasks that wait. Such a task is delayed until its earliest due time. Meanwhile it
-- holds no lease and no limit, and no attempt is spent. Each item is one wait of a task; a task may have several. A stored
-- wait keeps its first due time: `due_ms`, or delay_ms from then. why `diverged`: the code of the worker does not fit the
-- stored steps. Nothing is stored then, and the task has the reason `diverged`. Past its deadline, a lease is lost here,
-- even if no call has taken it back yet. A task that was being cancelled ends as cancelled. A repeated call returns the
-- same answer.
--
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- ITEM   token     id
-- ITEM   name      label
-- ITEM   number    int 1..10000  ?=1
-- ITEM   why       enum sleep|diverged ?=sleep
-- ITEM   delay_ms  int 0..315360000000 ?=0
-- ITEM   due_ms    int 0..9000000000000000 ?=0
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      suspended due_ms:int
-- EACH   item      cancelled
-- EACH   item      diverged kind:text
-- EACH   item      full
-- EACH   item      lease_lost
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.suspended task.released task.snoozed task.cancelled task.removed task.unblocked task.dead
-- ROLE   work
-- REPLAY token
-- FLAGS  allow-oom
-- COST   10 + 7n commands, 2 more if it is due within 10 s, 1 more if it has a deadline, 2 more if there are limits, 1 for each limit of a task, O(n log m); at most 18,000 commands, 250,000 steps
-- EARLY  await_deadline delay_until push_due settled_before trim_set

local ctx, refused = open()
refused = refused or refuse_older(ctx)
if refused then return refused end

local runs, at, answers = {}, {}, {}
-- at most 1,000: items
local held = redis.call('HMGET', running, unpack(item_id))
local deadlines = redis.call('ZMSCORE', leases, unpack(item_id))
for i, id in ipairs(item_id) do
  local lease, name, due_ms = read_lease(held[i]), step_name(item_name[i], item_number[i]), item_due_ms[i]
  if due_ms == 0 then due_ms = ctx.now + item_delay_ms[i] end
  local ours = lease and lease.token == item_token[i] and tonumber(deadlines[i] or 0) > ctx.now
  local key = id .. ' ' .. item_token[i]
  if not at[key] then
    at[key] = #runs + 1
    runs[#runs + 1] = { id = id, token = item_token[i], due_ms = MAX_SAFE }
  end
  local run = runs[at[key]]
  if ours and not lease.cancelling and item_why[i] == 'sleep' then
    local step, refusal = keep_step(ctx, id, name, 'sleep', string.format('%.0f', due_ms), lease.fence)
    due_ms, run.refusal = step and tonumber(step.value), run.refusal or refusal
  end
  if due_ms and due_ms < run.due_ms then run.due_ms, run.name, run.reason = due_ms, name, item_why[i] end
end

local ids, tokens, delays, waits = {}, {}, {}, {}
for _, run in ipairs(runs) do
  if not run.refusal then
    run.place = #ids + 1
    ids[run.place], tokens[run.place], waits[run.place] = run.id, run.token, run
    delays[run.place] = math.max(0, run.due_ms - ctx.now)
  end
end
local ended = ids[1] and return_leases(ctx, ids, tokens, delays, waits) or {}
for i, id in ipairs(item_id) do
  local run = runs[at[id .. ' ' .. item_token[i]]]
  answers[i] = run.refusal or ended[run.place]
end
close(ctx)
return { 'ok', ctx.now, answers }
