-- badge.step.v1: how much a badge counts on a board.
--
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int step:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   1 command; at most 5 commands, 100 steps

local ctx, refused = open()
if refused then return refused end
return { 'ok', ctx.now, ctx.settings.step }
