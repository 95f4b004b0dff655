-- queue.settings.v1: return all stored settings of a queue; all others have their defaults. `digest` is that of the
-- settings: `configure` takes it as `expect`.
--
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int settings:pairs(settings)
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   4 commands; at most 4 commands, 69 steps

local ctx, refused = open()
if refused then return refused end
return settings_reply(ctx)
