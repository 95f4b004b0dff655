-- lock.release.v1: release locks, and hand them over to the next waiters. A request that still waits is cancelled.
-- `lost`: its lease had ended before, or an operator has released it by force; nothing was changed.
--
-- ARGV   trace     bytes 0..128   ?=
-- ARGV   source    bytes 0..200   ?=
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- ITEM   rid       id
-- GROUP  item      1..100
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      released
-- EACH   item      cancelled
-- EACH   item      lost
-- EACH   item      unknown
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  lock.released lock.promoted lock.expired lock.cancelled
-- ROLE   work
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   8 commands if no request waits for it, 21 to hand it over; at most 600 commands, 98,000 steps

local ctx, refused = open_domain(item_rid)
if refused then return refused end
if item_count == 1 and not ctx.stepped and ctx.waiting == 0 and ctx.now < ctx.due and not ctx.settings.mirror then
  local rid = item_rid[1]
  local owner, agent, locks, code, resource =
    string.match(ctx.texts[rid] or '', '^[gh]%l+ (%S+) (%S+) %d+ %d+ %d+ %d+ %d+ %- %d+ (([xs])/%d+=([^ ,]+)) ')
  if owner then -- one lock that nobody waits for
    redis.call('ZREM', graph, 'r ' .. resource .. ' h ' .. code .. ' ' .. owner .. ' ' .. rid,
      'o ' .. owner .. ' h ' .. resource .. ' ' .. code .. ' ' .. rid, 'a ' .. agent .. ' ' .. rid)
    redis.call('ZADD', deadlines, ctx.now + 120000 - 1e15, rid)
    redis.call('HSET', requests, '#now', ctx.now_text, rid, 'ended released')
    emit(ctx, 'lock.released', rid, 'owner=' .. owner .. ' agent=' .. agent .. ' locks=' .. locks)
    redis.pcall('SPUBLISH', channel .. resource, 'released:' .. agent)
    return { 'ok', ctx.now, { { 'released' } } }
  end
end
-- LATE BODY
catch_up(ctx, item_rid)
local answers = {}
for i, rid in ipairs(item_rid) do
  local how = leave(ctx, rid) or 'unknown'
  if how ~= 'released' and how ~= 'cancelled' and how ~= 'unknown' then how = 'lost' end
  answers[i] = { how }
end
promote_freed(ctx)
close_domain(ctx)
return { 'ok', ctx.now, answers }
