-- config.sweep.v1: delete what is left of names that were removed long ago, at most `limit` of them. Each `set` deletes some, so this is for
-- a namespace that nobody changes.
--
-- ARGV   limit    int 1..1000   ?=100
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int forgotten:int more:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   operate
-- REPLAY goes_on
-- FLAGS  allow-oom
-- COST   4 commands, and 2 for each name; at most 2,300 commands, 4,500 steps

local ctx, refused = open()
if refused then return refused end
local forgotten = forget_removed(ctx, limit)
sweep_once(ctx, 1000)
return { 'ok', ctx.now, forgotten, forgotten == limit and 1 or 0 }
