-- events.ack.v1: acknowledge events that were delivered to a group, and its gap. They are not delivered again. `acked`: how many events were
-- still pending. `gap`: the number of the gap, from the answer to `read`. If the gap has grown since, it has another number and stays.
--
-- ARGV   group    name
-- ARGV   gap      int 0..9007199254740991 ?=0
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- ITEM   id       id
-- GROUP  item     0..1000
-- RETURN ok       now_ms:int acked:int
-- RETURN unknown  now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   follow
-- REPLAY state
-- FLAGS  allow-oom
-- COST   5 commands, O(n log m); at most 5 commands, 5,600 steps

local ctx, refused = open()
if refused then return refused end
local row = redis.call('HMGET', group_at .. group, 'last', 'gap')
if not row[1] then return { 'unknown', ctx.now } end
local acked = 0
if item_count > 0 then
  acked = redis.call('ZREM', pending .. group, unpack(item_id))  -- at most 1,000: items of a call
  redis.call('ZREM', unacked .. group, unpack(item_id))
end
if row[2] == string.format('%.0f', gap) then redis.call('HDEL', group_at .. group, 'gap_from', 'gap_to', 'gap_lost') end
return { 'ok', ctx.now, acked }
