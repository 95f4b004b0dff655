-- change.stats.v1: how many changes are in each state, and since when the earliest of what is due waits for a call: 0, if nothing does.
-- And the settings of the domain, so that an applier knows which locks it needs.
--
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int states:pairs(states) overdue:int since_ms:int settings:pairs(settings)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   14 commands; at most 15 commands, 67 steps

local ctx, refused = open()
if refused then return refused end
local counts = {}
for _, name in ipairs({ 'draft', 'submitted', 'reviewing', 'approved', 'applying', 'completed', 'failed', 'rejected', 'cancelled' }) do
  counts[#counts + 1] = name
  counts[#counts + 1] = string.format('%.0f', redis.call('ZCARD', states .. name))
end
local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
local since = first[1] and tonumber(first[2]) <= ctx.now and tonumber(first[2]) or 0
return { 'ok', ctx.now, counts, redis.call('ZCOUNT', due, '-inf', ctx.now_text), since,
  redis.call('HGETALL', config) }  -- at most 60: settings and other fields
