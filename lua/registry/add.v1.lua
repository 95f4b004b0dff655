-- registry.add.v1: add names. A client adds each name once, after its first write. A program that scans all keys adds what
-- it found, and then says with `scan_ms` when its scan began: from then on, the names are complete up to that time. If the
-- registry is full, it does not become complete.
--
-- ARGV   scan_ms  int 0..9000000000000 ?=0
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- ITEM   name     name
-- ITEM   tag      name          ?=
-- GROUP  item     0..500
-- RETURN ok       now_ms:int added:int full:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   register
-- REPLAY state
-- COST   4 + n commands; at most 560 commands, 7,800 steps

local ctx, refused = open()
if refused then return refused end
if not ctx.exists then create_base() end
local room = ctx.settings.names_max - redis.call('ZCARD', names)
local added, full = 0, 0
for i = 1, item_count do
  local name = full_name(item_name[i], item_tag[i])
  if room > 0 then
    local is_new = redis.call('ZADD', names, 'NX', 0, name)
    added, room = added + is_new, room - is_new
  elseif not redis.call('ZSCORE', names, name) then
    full = full + 1
  end
end
if scan_ms > 0 then
  redis.call('HDEL', scan, 'by', 'until_ms')
  if full == 0 and scan_ms > tonumber(redis.call('HGET', scan, 'began_ms') or 0) then
    redis.call('HSET', scan, 'began_ms', string.format('%.0f', math.min(scan_ms, ctx.now)), 'ended_ms', ctx.now_text)
  end
end
return { 'ok', ctx.now, added, full }
