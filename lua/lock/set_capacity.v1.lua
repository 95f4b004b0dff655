-- lock.set_capacity.v1: say how many permits a resource has, and make it active. Whoever has more than that keeps it;
-- who waits for more than that is told so by its next poll. Fewer permits than before may make a deadlock of waits that
-- were none: who waits for some is `checked` 0 then, for detect to look at. With silent_ms, it counts as offline when no heartbeat
-- came for so long: nothing more is given out until one comes.
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
-- COST   8 commands, 2 more where there are fewer permits than before; at most 930 commands, 15,000 steps

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
