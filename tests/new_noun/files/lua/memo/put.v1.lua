-- memo.put.v1: make a memo, or change the one of this id. It expires after `keep_ms`, or after the setting of that name.
--
-- ARGV   rid      id
-- ARGV   id       id
-- ARGV   text     bytes 0..65536
-- ARGV   author   label                 ?=
-- ARGV   keep_ms  int 0..31536000000    ?=0
-- ARGV   source   bytes 0..200          ?=
-- ARGV   trace    bytes 0..128          ?=
-- ARGV   now_ms   int 0..9000000000000 ?=0
-- RETURN created  now_ms:int expires_ms:int
-- RETURN changed  now_ms:int expires_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  memo.put
-- ROLE   write
-- REPLAY rid
-- COST   9 commands; at most 14 commands, 400 steps

local ctx, refused = open()
if refused then return refused end
local before = replayed_answers(ctx, 'put', 1)
if before then return { before[1][1], ctx.now, tonumber(before[1][2]) } end
local rev = redis.call('HINCRBY', memo .. id, 'rev', 1)
local expires_ms = ctx.now + (keep_ms > 0 and keep_ms or ctx.settings.keep_ms)
local expires_text = string.format('%.0f', expires_ms)
redis.call('HSET', memo .. id, 'text', text, 'changed_ms', ctx.now_text, 'expires_ms', expires_text)
if author ~= '' then redis.call('HSET', memo .. id, 'author', author) end
if rev == 1 then redis.call('HSET', memo .. id, 'created_ms', ctx.now_text) end
redis.call('ZADD', expiring, expires_text, id)
if not ctx.exists then create_base() end
local status = rev == 1 and 'created' or 'changed'
emit(ctx, 'memo.put', id, 'rev=' .. string.format('%.0f', rev))
note_answers(ctx, 'put', { { status, expires_text } })
return { status, ctx.now, expires_ms }
