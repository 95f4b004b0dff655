-- queue.stats.v1: return how many tasks are in each state, how many workers are alive, and the totals since the queue
-- began. `attempts:<b>` counts completions that took more than one run. `stalled` is a part of `running`. At most 1,000
-- lanes are listed, and `more_lanes` is the number of others; `ready` counts the tasks of 10,000 lanes.
--
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int mode:text ready:int delayed:int blocked:int running:int stalled:int finished:int dead:int workers:int lanes:pairs(lanes) more_lanes:int counters:pairs(counters)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   12 + l commands for l lanes; at most 12,000 commands, 45,000 steps

local ctx, refused = open()
if refused then return refused end

return (count_tasks(ctx))
