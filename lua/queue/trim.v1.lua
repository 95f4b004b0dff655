-- queue.trim.v1: delete ended tasks beyond the age and number that the queue keeps, and expired keys of `once`. Claims
-- of workers also do this. It removes nothing else. `more` is 1 if some may be left, because a call sends at most about
-- 1,500 commands. Repeating it leaves the same state, but returns another count.
--
-- ARGV   limit     int 1..1000   ?=1000
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int removed:int more:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  task.removed
-- ROLE   operate
-- REPLAY state
-- FLAGS  allow-oom
-- COST   15 + n commands, 1 more for a dead one, 2 for a stub, 1 for each user, tag and parent, O(n log m); at most 1,900 commands, 19,000 steps
-- LATE   shorten_family

local ctx, refused = open()
if refused then return refused end

ctx.work = 1500
local removed = trim_ended(ctx, limit, 0)
local forgotten = sweep_once(ctx, limit)
write_counts(ctx)
return { 'ok', ctx.now, removed, (ctx.untrimmed or removed >= limit or forgotten == limit) and 1 or 0 }
