-- queue.claim.v1: lease the next tasks of some lanes to a worker, and do a part of the due work (promote, reap). The
-- call is number n of a slot of an incarnation of the worker, and a slot has one call in flight. The same n is a
-- replay: it returns the tasks of the first call that still have the same token. A lower n or another incarnation is
-- `stale`, and a worker that is not registered is `unregistered`; neither writes. Tasks are ordered by priority band,
-- and inside a band by lane in the given order; with lane_first the other way round. busy: how many other tasks the
-- worker holds, for `workers`. With window_ms, the first task waits this long for others, and all are leased together.
-- A task of one of alone_kinds is leased alone and waits for no window: the call leases the tasks before it, or only
-- this task.
--
-- ARGV   worker    id
-- ARGV   incarnation name
-- ARGV   slot      int 0..255
-- ARGV   n         int 1..999999999999
-- ARGV   limit     int 1..1000
-- ARGV   lease_ms  int 0..86400000 ?=0
-- ARGV   busy      int -1..100000 ?=-1
-- ARGV   lane_first bool       ?=0
-- ARGV   window_ms int 0..60000 ?=0
-- ARGV   alone_kinds labels 0..16 ?=
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   lane      lane
-- GROUP  item      1..64
-- RETURN ok        now_ms:int next_ms:int fires_ms:int lease_ms:int deadline_ms:int leases:list(lease)
-- RETURN stale
-- RETURN unregistered
-- EACH   lease     leased id:id token:id fence:int attempt:int delivery:int payload:bytes record:pairs(task)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.claimed task.promoted task.stalled task.dead task.expired task.moved task.cancelled task.removed
-- EVENT  task.alert worker.lost task.unblocked task.limited
-- ROLE   work
-- REPLAY slot
-- FLAGS  allow-oom
-- COST   17 + n commands, 26 + n once a second, 4 and up to 100 more for a claim of tasks that are not all plain, 1 more if the queue has schedules, 5 more if there are limits, 1 for each limit of a task, 6 for a task that joins or leaves a limit queue, at most 100, O(n log m); at most 15,000 commands, 760,000 steps
-- EARLY  lane_emptied push_wake read_task
-- LATE   answer_waiters cancel_task drop_task line_up

-- The usual call: the next plain tasks. It makes no functions but these.
local row, known
if window_ms == 0 and not alone_kinds[1] and source .. trace == '' then
  row = redis.call('HMGET', config, SETTING_NAMES)
  local now, now_text, seen_ms
  now, now_text, known, seen_ms = plain_slot(row)
  local answer = now and claim_plain(row, now, now_text, seen_ms, item_lane)
  if answer then return answer end
end
-- LATE BODY

local ctx, refused = open(nil, row)
if refused then return refused end
ctx.lease_ms = lease_ms > 0 and lease_ms or ctx.settings.lease_ms
local standing, given = check_slot(ctx, known)
if standing == 'stale' then return { 'stale' } end
if standing == 'unregistered' then return { 'unregistered' } end

if alone_kinds[1] then
  ctx.alone = {}
  for _, kind in ipairs(alone_kinds) do ctx.alone[kind] = true end
end
local deadline_ms, leased
ctx.next_ms = sweep(ctx)
local left_ms = window_ms > 0 and window_left(ctx, item_lane, window_ms, limit) or 0
if standing == 'replay' then
  deadline_ms, leased = reclaim_tasks(ctx, given)
else
  if math.abs(ctx.now - given) >= 1000 and housekeep(ctx, item_lane, given) then given = ctx.now end
  deadline_ms, leased = claim_tasks(ctx, left_ms > 0 and {} or item_lane, limit, given)
end
if left_ms > 0 then ctx.next_ms = math.min(ctx.next_ms > 0 and ctx.next_ms or MAX_SAFE, ctx.now + left_ms) end
on_claimed(ctx)
close(ctx)
return { 'ok', ctx.now, ctx.next_ms, ctx.settings.schedules and next_firing(ctx) or 0, ctx.lease_ms, deadline_ms, leased }
