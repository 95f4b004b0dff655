-- lock.cancel.v1: end requests, whether they wait, hold, or have not arrived yet: an acquire that arrives after its
-- cancel is refused. For a client that gives up and cannot know the state of its request.
--
-- ARGV   trace     bytes 0..128   ?=
-- ARGV   source    bytes 0..200   ?=
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- ITEM   rid       id
-- GROUP  item      1..100
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      cancelled
-- EACH   item      released
-- EACH   item      ended outcome:text
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  lock.released lock.promoted lock.expired lock.cancelled
-- ROLE   work
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   8 commands if no request waits for it; at most 630 commands, 95,000 steps

local ctx, refused = open_domain(item_rid)
if refused then return refused end
catch_up(ctx, item_rid)
local answers = {}
for i, rid in ipairs(item_rid) do
  local how = leave(ctx, rid)
  if not how then
    remember(ctx, rid, 'cancelled')
    how = 'cancelled'
  end
  answers[i] = (how == 'cancelled' or how == 'released') and { how } or { 'ended', how }
end
promote_freed(ctx)
close_domain(ctx)
return { 'ok', ctx.now, answers }
