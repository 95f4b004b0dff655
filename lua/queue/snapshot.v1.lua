-- queue.snapshot.v1: add the totals and the numbers of tasks to the history, once a minute. Claims of workers also do this; the call is
-- for queues without claims. taken: 0 if this minute has a snapshot. The minutes of a day are kept, and the hours of 30 days.
--
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int taken:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   work
-- REPLAY state
-- COST   14 commands, 1 more for each of up to 200 lanes; at most 240 commands, 310 steps

local ctx, refused = open()
if refused then return refused end
ctx.history_ms = ctx.settings.history_ms
if not ctx.exists or (ctx.now < ctx.history_ms + 60000 and ctx.now >= ctx.history_ms - 3600000) then return { 'ok', ctx.now, 0 } end
take_snapshot(ctx)
return { 'ok', ctx.now, 1 }
