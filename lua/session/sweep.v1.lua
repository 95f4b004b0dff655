-- session.sweep.v1: delete sessions whose lifetime is over, at most `limit` of them. Each `create` deletes some, so this is for a partition
-- without logins. A session that ends by idleness is deleted by the server.
--
-- ARGV   limit    int 1..1000   ?=100
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int ended:int more:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   operate
-- REPLAY goes_on
-- FLAGS  allow-oom
-- COST   4 + 3n commands; at most 3,400 commands, 4,500 steps

local ctx, refused = open()
if refused then return refused end
local ended = sweep_ended(ctx, limit)
sweep_once(ctx, 1000)
return { 'ok', ctx.now, ended, ended == limit and 1 or 0 }
