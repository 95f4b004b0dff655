-- session.stats.v1: how many sessions a partition has, also those that have ended by idleness a short time ago; and how many of them are past
-- their lifetime, which the next call deletes.
--
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int sessions:int due:int settings:pairs(settings)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   5 commands; at most 5 commands, 37 steps

local ctx, refused = open()
if refused then return refused end
return { 'ok', ctx.now, redis.call('ZCARD', all), redis.call('ZCOUNT', all, '-inf', ctx.now_text),
  redis.call('HGETALL', config) }  -- at most 60: settings and other fields
