-- session.rotate.v1: give a session a new id, whose hash is `new_hash`. The former one may read the session for `grace_ms`. With 0 it is
-- gone at once: so after a login, and when a session gets more rights. `rotated`: this id was rotated before. Nobody is told a newer id.
--
-- ARGV   rid       id
-- ARGV   hash      id
-- ARGV   new_hash  id
-- ARGV   grace_ms  int 0..60000     ?=10000
-- ARGV   source    bytes 0..200     ?=
-- ARGV   trace     bytes 0..128     ?=
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN ok        now_ms:int
-- RETURN rotated   now_ms:int
-- RETURN exists    now_ms:int
-- RETURN gone      now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  session.rotated
-- ROLE   auth
-- REPLAY rid
-- COST   18 commands; at most 20 commands, 170 steps

local ctx, refused = open()
if refused then return refused end
local before = concluded_before(ctx, 'rotate')
if before then return before end
local own, record, _, rotated = find_session(ctx, hash)
if not own then return conclude(ctx, 'rotate', 'gone', {}) end
if rotated then return conclude(ctx, 'rotate', 'rotated', {}) end
if redis.call('EXISTS', sessions .. new_hash) == 1 then return conclude(ctx, 'rotate', 'exists', {}) end
redis.call('UNLINK', sessions .. hash)
redis.call('HSET', sessions .. new_hash, unpack(record))  -- at most 28: names and values of a session
keep_until_end(ctx, new_hash, own.active_ms, own.idle_ms, tonumber(own.ends_ms))
if grace_ms > 0 then
  redis.call('HSET', sessions .. hash, 'alias', new_hash, 'until_ms', string.format('%.0f', ctx.now + grace_ms))
  redis.call('PEXPIRE', sessions .. hash, grace_ms + WAIT_backstop_ms)
end
redis.call('ZADD', by_user .. own.user, own.ends_ms, new_hash)  -- first: an empty set would lose its expiry
redis.call('ZREM', by_user .. own.user, hash)
redis.call('ZADD', all, own.ends_ms, new_hash)
redis.call('ZREM', all, hash)
emit(ctx, 'session.rotated', handle_of(new_hash), 'user=' .. own.user .. ' from=' .. handle_of(hash))
return conclude(ctx, 'rotate', 'ok', {})
