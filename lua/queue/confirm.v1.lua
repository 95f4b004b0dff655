-- queue.confirm.v1: make one small write, on every path, so that WAITAOF or WAIT on the same connection has a write to
-- wait for. Both cover the writes of their own connection only, and a repeated call may have nothing left to write.
--
-- ARGV   now_ms    int 0..       ?=0
-- RETURN confirmed now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- REPLAY idempotent
-- FLAGS  allow-oom
-- COST   3 commands; at most 3 commands, 37 steps

local ctx, refused = open()
if refused then return refused end
redis.call('HSET', config, 'confirmed_ms', ctx.now_text)
return { 'confirmed', ctx.now }
