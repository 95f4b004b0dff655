-- change.sweep.v1: do what is due, of at most `limit` things in all: what time does with changes (reminders, escalations, timeouts, ends of
-- approvals and of leases), then delete ended changes that are too old or too many, then move requests whose delegation has begun or
-- ended to their inboxes. A call does less where the conditions of delegations take long to compare. `more`: there is more to do now. Other
-- calls do the same for a few changes each, so a domain without a sweep only keeps more and reminds later.
--
-- ARGV   limit    int 1..100    ?=20
-- ARGV   source   bytes 0..200  ?=
-- ARGV   trace    bytes 0..128  ?=
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int taken:int removed:int more:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  change.removed change.delegated change.outdated change.reviewing change.reminded change.escalated change.rejected
-- EVENT  change.approved change.released change.failed change.cancelled
-- ROLE   operate
-- REPLAY goes_on
-- FLAGS  allow-oom
-- COST   6 commands; at most 17,000 commands, 1,100,000 steps

local ctx, refused = open()
if refused then return refused end
local taken = take_others(ctx, limit)
local left, removed = limit - taken, 0
local ids = left > 0 and oldest_beyond(ctx, ended, ctx.settings.keep_ms, ctx.settings.keep_max, left) or {}
for _, id in ipairs(ids) do removed = removed + remove_change(ctx, id) end  -- at most 100: limit
local moving = move_delegated(ctx, left - removed)
sweep_once(ctx, 1000)
return { 'ok', ctx.now, taken, removed, (left == 0 or removed > 0 and #ids == left or moving or looked_enough(ctx)) and 1 or 0 }
