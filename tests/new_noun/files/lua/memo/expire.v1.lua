-- memo.expire.v1: delete memos whose time is over, at most `limit` of them.
--
-- ARGV   limit    int 1..1000   ?=100
-- ARGV   source   bytes 0..200  ?=
-- ARGV   trace    bytes 0..128  ?=
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int expired:int more:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  memo.expired
-- ROLE   work
-- REPLAY goes_on
-- COST   3 + 2n commands; at most 2,010 commands, 20,000 steps

local ctx, refused = open()
if refused then return refused end
local ids = redis.call('ZRANGE', expiring, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, limit)
for _, id in ipairs(ids) do
  redis.call('DEL', memo .. id)
  emit(ctx, 'memo.expired', id, '')
end
if #ids > 0 then redis.call('ZREM', expiring, unpack(ids)) end  -- at most 1,000: limit
sweep_once(ctx, 1000)
return { 'ok', ctx.now, #ids, #ids == limit and 1 or 0 }
