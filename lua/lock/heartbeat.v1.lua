-- lock.heartbeat.v1: show that the program that gives permits is alive, for instance an agent. A resource that was
-- offline gives permits again.
--
-- ARGV   trace     bytes 0..128   ?=
-- ARGV   source    bytes 0..200   ?=
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- ITEM   resource  id
-- GROUP  item      1..100
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      active
-- EACH   item      draining
-- EACH   item      no_capacity
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  lock.promoted lock.expired lock.cancelled
-- ROLE   work
-- REPLAY idempotent
-- FLAGS  allow-oom
-- COST   4 + 2n commands; at most 230 commands, 2,700 steps
-- EARLY  note_line write_capacity

local ctx, refused = open_domain({})
if refused then return refused end
end_due(ctx, 16)
local answers = {}
for i, resource in ipairs(item_resource) do
  local room = read_capacity(ctx, resource)
  if room then
    if room.silent then note_line(ctx, resource) end
    room.seen_ms = ctx.now_text
    write_capacity(resource, room)
  end
  answers[i] = { not room and 'no_capacity' or room.status == 'draining' and 'draining' or 'active' }
end
ctx.lines = nil -- it has read them before
promote_freed(ctx)
close_domain(ctx)
return { 'ok', ctx.now, answers }
