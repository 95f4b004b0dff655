-- registry.remove.v1: remove names whose data has been deleted. The caller has looked that `<base>:config` of each does
-- not exist. If a name is used again, the next scan adds it.
--
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- ITEM   name     name
-- ITEM   tag      name          ?=
-- GROUP  item     1..500
-- RETURN ok       now_ms:int removed:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   operate
-- REPLAY state
-- FLAGS  allow-oom
-- COST   2 + n commands; at most 560 commands, 6,100 steps

local ctx, refused = open()
if refused then return refused end
local removed = 0
for i = 1, item_count do
  removed = removed + redis.call('ZREM', names, full_name(item_name[i], item_tag[i]))
end
return { 'ok', ctx.now, removed }
