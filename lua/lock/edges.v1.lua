-- lock.edges.v1: who waits for whom: a page of the waits-for graph, resource by resource. Who waits for somebody who
-- waits for a third is not told to wait for the third; what is reachable is the same. `cursor` is what the last page
-- answered, '' to begin; an empty cursor in the answer: no more. rid and blocker_rid are the stamps of an edge: while
-- both are there, so is the edge. A page may pass its limit by the edges of one resource, of which it reads 1,000
-- holders and 1,000 waiters, up to 10,000 edges.
--
-- KEYS   config    hash           {base}:config
-- KEYS   requests  hash           {base}:requests
-- KEYS   graph     zset           {base}:graph
-- ARGV   cursor    bytes 0..200   ?=
-- ARGV   limit     int 1..1000    ?=1000
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN ok        now_ms:int cursor:text edges:list(edge)
-- EACH   edge      waits owner:id rid:id resource:id code:text blocker:id blocker_rid:id held:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   4 + 3n commands for n resources
-- INCLUDE base_time open_domain members_below edges_of

local conf, refused = open_domain({})
if refused then return refused end
local answers, at = {}, cursor
for _ = 1, 1000 do
  local low = at == '' and '[r ' or '(r ' .. at .. '!'
  at = string.match(redis.call('ZRANGE', graph, low, '(r!', 'BYLEX', 'LIMIT', 0, 1)[1] or '', '^r (%S+)') or ''
  if at == '' then break end
  edges_of(at, answers)
  if #answers >= limit then break end
end
return { 'ok', conf.now, at, answers }
