-- events.trim.v1: delete events that are older than the setting, or than `before_ms`, and that all groups have acknowledged. It deletes
-- whole blocks of usually 100 events, at most 100 blocks, so a few old ones stay. `more` is 1 if another call may delete more. A group that
-- had no reader for `lapse_ms` holds none. `held_by`: the group that keeps older events.
--
-- ARGV   before_ms int 0..9000000000000 ?=0
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN ok        now_ms:int removed:int more:int held_by:text
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  group.lapsed
-- ROLE   operate
-- REPLAY goes_on
-- FLAGS  allow-oom
-- COST   6 commands, and 2 for each group; at most 340 commands, 1,500 steps

local ctx, refused = open()
if refused then return refused end
if not ctx.exists then create_base() end
local keep_ms = note_keep(ctx)
local removed, more, held_by = sweep_events(ctx, before_ms > 0 and before_ms or ctx.now - keep_ms)
return { 'ok', ctx.now, removed, more and 1 or 0, held_by }
