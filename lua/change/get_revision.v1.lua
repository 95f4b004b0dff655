-- change.get_revision.v1: the content of a revision of a change, as the netstrings over which its digest is (see `put`). Of a change, the
-- current revision and the 10 before it are kept. Those before it are gone 30 days after another was replaced last.
--
-- ARGV   id       name
-- ARGV   rev      int 1..1000000000
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN found      now_ms:int content:bytes
-- RETURN not_kept   now_ms:int current:int
-- RETURN not_found  now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   4 commands; at most 5 commands, 140 steps

local ctx, refused = open()
if refused then return refused end
local own = read_change(id)
if not own then return { 'not_found', ctx.now } end
local content
if rev == own.rev then content = netstrings(stored_content(own)) else content = redis.call('HGET', revisions .. id, rev) end
if not content then return { 'not_kept', ctx.now, own.rev } end
return { 'found', ctx.now, content }
