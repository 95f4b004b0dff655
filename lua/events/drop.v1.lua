-- events.drop.v1: drop groups. They hold no events any more, and what was delivered to them is forgotten.
--
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- ITEM   group    name
-- GROUP  item     1..100
-- RETURN ok       now_ms:int items:list(item)
-- EACH   item     dropped
-- EACH   item     unknown
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  group.dropped
-- ROLE   operate
-- REPLAY state
-- FLAGS  allow-oom
-- COST   4 commands, and 3 for each group; at most 340 commands, 1,700 steps

local ctx, refused = open()
if refused then return refused end
local items, found = {}, false
for i, name in ipairs(item_group) do
  items[i] = { 'unknown' }
  if redis.call('ZREM', groups, name) == 1 then
    redis.call('UNLINK', group_at .. name, pending .. name, unacked .. name)
    emit_group(ctx, 'group.dropped', name, '')
    items[i], found = { 'dropped' }, true
  end
end
if found and redis.call('EXISTS', groups) == 0 then redis.call('HDEL', config, 'held_ms') end
return { 'ok', ctx.now, items }
