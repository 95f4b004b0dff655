-- registry.scan.v1: begin a scan of all keys, or go on with it, so that other programs do not scan at the same time. It
-- counts for `lease_ms`, and ends with the add that has `scan_ms`.
--
-- ARGV   by       id
-- ARGV   lease_ms int 1000..3600000 ?=60000
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int
-- RETURN busy     now_ms:int until_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   register
-- REPLAY idempotent
-- COST   5 commands; at most 4 commands, 48 steps

local ctx, refused = open()
if refused then return refused end
if not ctx.exists then create_base() end
local other = redis.call('HMGET', scan, 'by', 'until_ms')
if other[1] and other[1] ~= by and tonumber(other[2]) > ctx.now then return { 'busy', ctx.now, tonumber(other[2]) } end
redis.call('HSET', scan, 'by', by, 'until_ms', string.format('%.0f', ctx.now + lease_ms))
return { 'ok', ctx.now }
