-- events.configure.v1: change settings of an event stream. The clock is chosen once: by the first call that writes. Without settings, it
-- returns the stored ones; all others have their defaults. If the call is sent again, it sets the same again. With another `lapse_ms`, the
-- noun does not trim its events by age for that time.
--
-- ARGV   clock     enum keep|server|test ?=keep
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- SETTINGS settings
-- GROUP  settings  0..1
-- RETURN ok        now_ms:int settings:pairs(settings)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK ADEQ_CONFLICT
-- ROLE   operate
-- REPLAY idempotent
-- COST   7 commands; at most 6 commands, 120 steps

local ctx, refused = open_to_configure(clock)
if refused then return refused end
local changes = settings_pairs[1] or {}
change_settings(ctx, clock, changes)
if changes.lapse_ms and redis.call('EXISTS', groups) == 1 then hold_events(ctx, tonumber(changes.lapse_ms)) end
return { 'ok', ctx.now, redis.call('HGETALL', config) }  -- at most 60: settings and other fields
