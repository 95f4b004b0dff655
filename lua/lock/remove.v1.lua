-- lock.remove.v1: remove the capacity of a resource whose permits are all free. Waiters for a permit learn it with
-- their next poll.
--
-- ARGV   resource  id
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN removed   now_ms:int
-- RETURN in_use    now_ms:int
-- RETURN no_capacity now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   operate
-- REPLAY state
-- FLAGS  allow-oom
-- COST   7 commands; at most 5 commands, 76 steps

local ctx, refused = open_domain({})
if refused then return refused end
local room = read_capacity(ctx, resource)
local status = not room and 'no_capacity' or room.used > 0 and 'in_use' or 'removed'
if status == 'removed' then
  redis.call('HDEL', capacity, resource)
  ctx.hints = { [resource] = 'removed:' .. resource }
end
close_domain(ctx)
return { status, ctx.now }
