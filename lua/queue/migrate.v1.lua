-- queue.migrate.v1: from now on, write the stored data in the layout of these scripts, and refuse older scripts. Stored
-- data is read in either form until all of it is rewritten, which `done` notes. If nothing is stored, or the layout is
-- not older, nothing changes. Returns the layout, and the layout that all data has at least; 0 if nothing is stored.
--
-- ARGV   done      bool          ?=0
-- ARGV   trace     bytes 0..128  ?=
-- ARGV   source    bytes 0..200  ?=
-- ARGV   now_ms    int 0..       ?=0
-- RETURN ok        now_ms:int layout:int rewritten:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  queue.migrated
-- ROLE   operate
-- REPLAY idempotent
-- FLAGS  allow-oom
-- COST   5 commands; at most 3 commands, 52 steps

local ctx, refused = open()
if refused then return refused end

local layout, rewritten, before = raise_layout(done)
if before then emit(ctx, 'queue.migrated', '', 'from=' .. before .. ' to=' .. LAYOUT) end
return { 'ok', ctx.now, layout, rewritten }
