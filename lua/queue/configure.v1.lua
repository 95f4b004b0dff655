-- queue.configure.v1: change settings of a queue, and create it if it does not exist. The clock is chosen once, at
-- creation. If the same call is sent again, it changes nothing. Without settings, it returns the stored ones; all
-- others have their defaults. `expect` is the `digest` that the caller has read. If the stored settings have another
-- one, the call is refused (`ADEQ_STALE`) and nothing is changed.
--
-- ARGV   rid       id            ?=
-- ARGV   clock     enum keep|server|test ?=keep
-- ARGV   now_ms    int 0..       ?=0
-- SETTINGS settings
-- PAIR   settings.expect bytes 16..16
-- GROUP  settings  0..1
-- RETURN ok        now_ms:int settings:pairs(settings)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK ADEQ_CONFLICT ADEQ_STALE
-- ROLE   operate
-- REPLAY rid
-- COST   11 commands; at most 13 commands, 410 steps
-- LATE   set_fair

local ctx, refused = open_to_configure(clock)
if refused then return refused end
local changes = settings_pairs[1] or {}
if #changes > 0 and done_before(ctx, 'configure') then changes = {} end
local expect = take_expect(changes)
refused = expect and refuse_stale('settings[1].expect', expect, settings_digest())
if refused then return refused end
if changes.fair ~= nil then set_fair(ctx, changes) end
change_settings(ctx, clock, changes)
if changes.timeout_ms and tonumber(changes.timeout_ms) ~= ctx.settings.timeout_ms then
  redis.call('HSET', config, 'timeout_set_ms', ctx.now_text)
end
if #changes > 0 then note_done(ctx, 'configure', 'done') end
return settings_reply(ctx)
