-- lock.abort.v1: end waits that are part of a deadlock cycle across domains, each only if it still waits. For a
-- detector that has read the stamps of all edges twice.
--
-- ARGV   circle    bytes 1..30000
-- ARGV   trace     bytes 0..128   ?=
-- ARGV   source    bytes 0..200   ?=
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- ITEM   rid       id
-- GROUP  item      1..100
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      aborted
-- EACH   item      not_waiting
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  lock.promoted lock.expired lock.cancelled lock.deadlock
-- ROLE   operate
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   5 + 4n commands; at most 630 commands, 95,000 steps
-- LATE   live_request

local ctx, refused = open_domain(item_rid)
if refused then return refused end
catch_up(ctx, item_rid)
local answers = {}
for i, rid in ipairs(item_rid) do
  local request = live_request(ctx, rid)
  if request and request.order ~= '-' then end_deadlock(ctx, rid, request, circle) end
  answers[i] = { record_of(ctx, rid) == 'ended deadlock ' .. circle and 'aborted' or 'not_waiting' }
end
promote_freed(ctx)
close_domain(ctx)
return { 'ok', ctx.now, answers }
