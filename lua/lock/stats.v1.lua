-- lock.stats.v1: return the counts of a domain, its configured settings, and when detect last searched for deadlocks
-- (0: never).
--
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN ok        now_ms:int held:int waiting:int ended:int unchecked:int capacities:int settings:pairs(settings) detected_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   9 commands; at most 9 commands, 52 steps

local ctx, refused = open_domain({})
if refused then return refused end
return {
  'ok', ctx.now, redis.call('ZLEXCOUNT', graph, '[a ', '(a!') - ctx.waiting, ctx.waiting,
  redis.call('ZCOUNT', deadlines, '-inf', '(0'),
  redis.call('ZCARD', unchecked), redis.call('HLEN', capacity), redis.call('HGETALL', config),  -- at most 50: settings
  tonumber(redis.call('HGET', requests, '#detected') or 0),
}
