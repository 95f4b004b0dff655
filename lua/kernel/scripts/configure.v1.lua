-- $word.configure.v1: change settings of a $title, and create it if it does not exist. The clock is chosen once,
-- at creation. Without settings, it returns the stored ones; all others have their defaults. If the call is sent
-- again, it sets the same again.
--
-- ARGV   clock     enum keep|server|test ?=keep
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- SETTINGS settings
-- GROUP  settings  0..1
-- RETURN ok        now_ms:int settings:pairs(settings)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK ADEQ_CONFLICT
-- ROLE   operate
-- REPLAY idempotent
-- COST   5 commands; at most 6 commands, 400 steps

local ctx, refused = open_to_configure(clock)
if refused then return refused end
change_settings(ctx, clock, settings_pairs[1] or {})
return { 'ok', ctx.now, redis.call('HGETALL', config) }  -- at most 60: settings and other fields
