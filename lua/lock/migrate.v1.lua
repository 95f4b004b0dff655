-- lock.migrate.v1: from now on, write the stored data of a domain in the layout of these scripts, and refuse older
-- scripts. Stored data is read in either form until all of it is rewritten, which `done` notes. If nothing is stored,
-- or the layout is not older, nothing changes. Returns the layout, and the layout that all data has at least; 0 if
-- nothing is stored.
--
-- ARGV   done      bool          ?=0
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN ok        now_ms:int layout:int rewritten:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   operate
-- REPLAY idempotent
-- FLAGS  allow-oom
-- COST   4 commands; at most 4 commands, 60 steps

local ctx, refused = open_domain({})
if refused then return refused end
local layout, rewritten = raise_layout(done)
return { 'ok', ctx.now, layout, rewritten }
