-- queue.settings.v1: return all stored settings of a queue; all others have their defaults.
--
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int settings:pairs(settings)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   3 commands; at most 3 commands, 31 steps

local ctx, refused = open()
if refused then return refused end
return { 'ok', ctx.now, redis.call('HGETALL', config) }  -- at most 50: settings, counters and marks
