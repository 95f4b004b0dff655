-- lock.drain.v1: give no more permits of a resource until set_capacity. Permits in use stay until they are released.
-- Waiters for a permit learn it with their next poll.
--
-- ARGV   resource  id
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN draining  now_ms:int
-- RETURN no_capacity now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   operate
-- REPLAY idempotent
-- FLAGS  allow-oom
-- COST   7 commands; at most 7 commands, 87 steps

local ctx, refused = open_domain({})
if refused then return refused end
local room = read_capacity(ctx, resource)
if room then
  room.status = 'draining'
  write_capacity(resource, room)
  ctx.hints = { [resource] = 'draining:' .. resource }
end
close_domain(ctx)
return { room and 'draining' or 'no_capacity', ctx.now }
