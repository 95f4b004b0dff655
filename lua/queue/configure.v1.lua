-- queue.configure.v1: change settings of a queue, and create it if it does not exist. The clock is chosen once, at
-- creation. If the same call is sent again, it changes nothing. Without settings, it returns the stored ones; all
-- others have their defaults.
--
-- ARGV   rid       id            ?=
-- ARGV   clock     enum keep|server|test ?=keep
-- ARGV   now_ms    int 0..       ?=0
-- SETTINGS settings
-- GROUP  settings  0..1
-- RETURN ok        now_ms:int settings:pairs(settings)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK ADEQ_CONFLICT
-- ROLE   operate
-- REPLAY rid
-- COST   10 commands; at most 10 commands, 280 steps
-- LATE   set_fair

local ctx, refused = open_to_configure(clock)
if refused then return refused end
local changes = settings_pairs[1] or {}
if #changes > 0 and done_before(ctx, 'configure') then changes = {} end
if changes.fair ~= nil then set_fair(ctx, changes) end
change_settings(ctx, clock, changes)
if changes.timeout_ms and tonumber(changes.timeout_ms) ~= ctx.settings.timeout_ms then
  redis.call('HSET', config, 'timeout_set_ms', ctx.now_text)
end
if #changes > 0 then note_done(ctx, 'configure', 'done') end
-- at most 50: settings, counters and marks
return { 'ok', ctx.now, redis.call('HGETALL', config) }
