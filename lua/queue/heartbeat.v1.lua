-- queue.heartbeat.v1: renew leases, and return which tasks are to be cancelled and which leases are lost. Past its
-- deadline, a lease is lost here, even if no call has taken it back yet. So is a lease whose task has run longer than
-- its timeout (or the queue's) plus a grace time. If the call is sent again, it renews again. A worker that sends its
-- name also gets the requests to it: to run, be quiet, stop or restart; and how many tasks to run at a time, 0 for no
-- request.
--
-- ARGV   worker    id            ?=
-- ARGV   busy      int -1..100000 ?=-1
-- ARGV   lease_ms  int 0..86400000 ?=0
-- ARGV   now_ms    int 0..       ?=0
-- ITEM   id        id
-- ITEM   token     id
-- GROUP  item      0..1000
-- RETURN ok        now_ms:int mode:text wanted:int items:list(item)
-- EACH   item      renewed deadline_ms:int
-- EACH   item      cancelling deadline_ms:int
-- EACH   item      timed_out deadline_ms:int
-- EACH   item      lease_lost
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   work
-- REPLAY idempotent
-- FLAGS  allow-oom
-- COST   9 commands, 1 more for each task with ties, O(n log m); at most 1,200 commands, 30,000 steps
-- LATE   over_time

local ctx, refused = open()
if refused then return refused end

local deadline_ms = ctx.now + (lease_ms > 0 and lease_ms or ctx.settings.lease_ms)
local mode, wanted = 'run', 0
if worker ~= '' then mode, wanted = renew_presence(ctx) end
if item_count == 0 then return { 'ok', ctx.now, mode, wanted, {} } end

-- at most 1,000: items
local held = redis.call('HMGET', running, unpack(item_id))
local deadlines = redis.call('ZMSCORE', leases, unpack(item_id))
local answers, renewed = {}, {}
for i = 1, item_count do
  local flags, ran = flags_of(held[i], item_token[i])
  local tied = flags and string.find(flags, ' ties', 1, true)
  local timed = flags and (tied or ctx.settings.timeout_ms > 0)
  local late_ms = timed and over_time(ctx, item_id[i], tonumber(string.match(ran, '^%d+')), tied) or -1
  local lost = not flags or tonumber(deadlines[i] or 0) <= ctx.now
  if lost or (late_ms >= 0 and late_ms >= ctx.grace_ms) then
    answers[i] = { 'lease_lost' }
  else
    local cancelling = string.find(flags, ' cancel', 1, true)
    answers[i] = { cancelling and 'cancelling' or late_ms >= 0 and 'timed_out' or 'renewed', deadline_ms }
    renewed[#renewed + 1] = deadline_ms
    renewed[#renewed + 1] = item_id[i]
  end
end
if #renewed > 0 then redis.call('ZADD', leases, 'XX', unpack(renewed)) end  -- at most 2,000: two for each item
return { 'ok', ctx.now, mode, wanted, answers }
