-- session.update.v1: change fields of a session, if it still has the `ver` that the caller has read. A session that has ended stays so.
-- `rotated`: an older id may only read.
--
-- ARGV   rid         id
-- ARGV   source      bytes 0..200     ?=
-- ARGV   trace       bytes 0..128     ?=
-- ARGV   now_ms      int 0..9000000000000 ?=0
-- ITEM   hash        id
-- ITEM   ver         int 1..9007199254740991
-- PAIR   name        bytes 0..200
-- PAIR   roles       labels 0..64
-- PAIR   permissions labels 0..256
-- PAIR   address     bytes 0..100
-- PAIR   agent       bytes 0..512
-- PAIR   data        bytes 0..16384
-- PAIR   authz_ver   int 0..9007199254740991
-- GROUP  item      1..1
-- RETURN ok        now_ms:int ver:int
-- RETURN changed   now_ms:int ver:int
-- RETURN rotated   now_ms:int
-- RETURN gone      now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   use
-- REPLAY rid
-- COST   8 commands; at most 9 commands, 1,800 steps

local ctx, refused = open()
if refused then return refused end
local before = concluded_before(ctx, 'update')
if before then return before end
local own, _, _, rotated = find_session(ctx, item_hash[1])
if not own then return conclude(ctx, 'update', 'gone', {}) end
if rotated then return conclude(ctx, 'update', 'rotated', {}) end
if tonumber(own.ver) ~= item_ver[1] then return conclude(ctx, 'update', 'changed', { tonumber(own.ver) }) end
local changes = item_pairs[1]
changes[#changes + 1] = 'ver'
changes[#changes + 1] = string.format('%.0f', item_ver[1] + 1)
redis.call('HSET', sessions .. own.hash, unpack(changes))  -- at most 16: names and values
return conclude(ctx, 'update', 'ok', { item_ver[1] + 1 })
