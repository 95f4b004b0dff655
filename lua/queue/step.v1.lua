-- queue.step.v1: store what steps of running tasks have returned, so that later runs need not take them again. A stored
-- step never changes: a second call for its name gets the first value, or `stored` if its value is the same. It renews the
-- lease, but never to an earlier time, and the crashes of the task count from 0. Past its deadline, a lease is lost here. A step is
-- named by `name` and, if the run has asked for the name before, by `number`: `edit`, `edit#2`. Kind `patch`: a mark that
-- the task runs changed code.
--
-- ARGV   lease_ms  int 0..86400000 ?=0
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- ITEM   token     id
-- ITEM   name      label
-- ITEM   number    int 1..10000  ?=1
-- ITEM   kind      enum step|patch ?=step
-- ITEM   value     bytes 0..1048576
-- GROUP  item      1..100
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      stored deadline_ms:int
-- EACH   item      known deadline_ms:int value:bytes
-- EACH   item      diverged kind:text
-- EACH   item      full
-- EACH   item      lease_lost
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   work
-- REPLAY token
-- FLAGS  allow-oom
-- COST   4 + 6n commands, 2 more for a task that has crashed; at most 670 commands, 7,800 steps

local ctx, refused = open()
refused = refused or refuse_older(ctx)
if refused then return refused end

local deadline_ms = ctx.now + (lease_ms > 0 and lease_ms or ctx.settings.lease_ms)
local answers = {}
-- at most 100: items
local held = redis.call('HMGET', running, unpack(item_id))
local deadlines = redis.call('ZMSCORE', leases, unpack(item_id))
for i, id in ipairs(item_id) do
  local lease, ends_ms = read_lease(held[i]), tonumber(deadlines[i] or 0)
  if not lease or lease.token ~= item_token[i] or ends_ms <= ctx.now then
    answers[i] = { 'lease_lost' }
  else
    local name, value = step_name(item_name[i], item_number[i]), item_value[i]
    local step, answer = keep_step(ctx, id, name, item_kind[i], value, lease.fence)
    if step then
      local timed = lease.tied or ctx.settings.timeout_ms > 0
      local late = timed and over_time(ctx, id, lease.started_ms, lease.tied) >= 0
      if not late then redis.call('ZADD', leases, 'XX', 'GT', deadline_ms, id) end
      if lease.crashes > 0 then forget_crashes(id, held[i]) end
      answer = { step.value == value and 'stored' or 'known', late and ends_ms or math.max(ends_ms, deadline_ms) }
      if step.value ~= value then answer[3] = step.value end
    end
    answers[i] = answer
  end
end
return { 'ok', ctx.now, answers }
