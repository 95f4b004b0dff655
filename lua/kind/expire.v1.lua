-- kind.expire.v1: delete kinds that no worker has published for long, at most `limit` of them.
--
-- ARGV   limit    int 1..1000   ?=100
-- ARGV   source   bytes 0..200  ?=
-- ARGV   trace    bytes 0..128  ?=
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int expired:int more:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  kind.expired
-- ROLE   work
-- REPLAY goes_on
-- COST   3 + 2n commands; at most 1,200 commands, 7,300 steps

local ctx, refused = open()
if refused then return refused end
local expired = remove_expired(ctx, limit)
return { 'ok', ctx.now, expired, expired == limit and 1 or 0 }
