-- lock.set_capacity.v1: set how many permits a resource has, and make it active. A holder of more permits keeps them. A
-- waiter for more learns that with its next poll. Fewer permits than before may turn waits into a deadlock: waiters for
-- permits are `checked` 0 then, for detect to search. With silent_ms, the resource is offline if no heartbeat came for
-- this time: it gives no more permits until one comes.
--
-- ARGV   resource  id
-- ARGV   max       int 0..1000000
-- ARGV   silent_ms int 0..86400000 ?=0
-- ARGV   trace     bytes 0..128   ?=
-- ARGV   source    bytes 0..200   ?=
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN ok        now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  lock.promoted lock.expired lock.cancelled
-- ROLE   operate
-- REPLAY idempotent
-- COST   8 commands, 2 more if there are fewer permits than before; at most 930 commands, 16,000 steps

local ctx, refused = open_domain({})
if refused then return refused end
end_due(ctx, 16)
local room = read_capacity(ctx, resource) or { used = 0 }
local fewer = room.status ~= 'active' or max < room.max
room.max, room.status, room.silent_ms, room.seen_ms = max, 'active', string.format('%.0f', silent_ms), ctx.now_text
write_capacity(resource, room)
note_line(ctx, resource)
ctx.lines = nil -- it has read them before
promote_freed(ctx)
if fewer and ctx.waiting > 0 then recheck_line(ctx, resource, '') end
close_domain(ctx)
return { 'ok', ctx.now }
