-- registry.list.v1: a page of the names, in the order of their bytes. `cursor` is what the last page answered, empty to
-- begin; an empty cursor in the answer means that there is no more. `scan_ms`: each name that existed at this time is
-- listed; 0 before the first scan. `ended_ms`: when that scan had ended. `total`: how many names there are.
--
-- ARGV   cursor   bytes 0..201  ?=
-- ARGV   limit    int 1..1000   ?=1000
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN ok       now_ms:int scan_ms:int ended_ms:int total:int cursor:text names:ids
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- FLAGS  no-writes
-- COST   5 commands; at most 5 commands, 49 steps

local ctx, refused = open()
if refused then return refused end
local page = redis.call('ZRANGE', names, cursor == '' and '-' or '(' .. cursor, '+', 'BYLEX', 'LIMIT', 0, limit)
local last = redis.call('HMGET', scan, 'began_ms', 'ended_ms')
return { 'ok', ctx.now, tonumber(last[1] or 0), tonumber(last[2] or 0), redis.call('ZCARD', names),
  #page == limit and page[limit] or '', page }
