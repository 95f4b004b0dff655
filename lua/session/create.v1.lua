-- session.create.v1: make a session of a user. `hash` is SHA-256, in hex, of the realm, a zero byte and the id, which the client has drawn:
-- 32 random bytes. The server never sees the id. `expect_us` is `not_before_us` of the user as it was read before the login was checked:
-- if the sessions of the user were revoked since, the answer is `revoked_since`; -1: do not compare. `authz_ver` is that of the user when
-- the roles were read; -1: the present one. If the user has `limit` sessions, the one that would end first is ended, or the call is refused.
--
-- ARGV   rid         id
-- ARGV   hash        id
-- ARGV   user        label
-- ARGV   name        bytes 0..200     ?=
-- ARGV   roles       labels 0..64     ?=
-- ARGV   permissions labels 0..256    ?=
-- ARGV   address     bytes 0..100     ?=
-- ARGV   agent       bytes 0..512     ?=
-- ARGV   data        bytes 0..16384   ?=
-- ARGV   idle_ms     int 1000..31536000000 ?=86400000
-- ARGV   lifetime_ms int 1000..31536000000 ?=604800000
-- ARGV   limit       int 1..1000      ?=1000
-- ARGV   when_full   enum end_oldest|refuse ?=end_oldest
-- ARGV   expect_us   int -1..9007199254740991 ?=-1
-- ARGV   authz_ver   int -1..9007199254740991 ?=-1
-- ARGV   source      bytes 0..200     ?=
-- ARGV   trace       bytes 0..128     ?=
-- ARGV   now_ms      int 0..9000000000000 ?=0
-- RETURN created       now_ms:int created_ms:int ends_ms:int authz_ver:int authz_stale:int
-- RETURN exists        now_ms:int
-- RETURN full          now_ms:int sessions:int
-- RETURN revoked_since now_ms:int not_before_us:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  session.created session.ended
-- ROLE   auth
-- REPLAY rid
-- COST   19 commands; at most 2,300 commands, 18,000 steps

local ctx, refused = open()
if refused then return refused end
local before = concluded_before(ctx, 'create')
if before then return before end
local known = read_user(ctx, user)
local seen = expect_us == (known.exists and known.not_before or 0)
  or expect_us == 0 and known.not_before == known.begun  -- the record was made since, and nothing revoked
if expect_us >= 0 and not seen then
  return conclude(ctx, 'create', 'revoked_since', { known.exists and known.not_before or 0 })
end
if redis.call('EXISTS', sessions .. hash) == 1 then return conclude(ctx, 'create', 'exists', {}) end
local stored = redis.call('ZCARD', by_user .. user)
local ended, others = {}, {}
if stored > 0 and (stored >= limit or not known.exists) then
  local valid
  valid, others = sort_out(ctx, user, known)
  if #valid >= limit and when_full == 'refuse' then return conclude(ctx, 'create', 'full', { #valid }) end
  for i = 1, #valid - limit + 1 do ended[i] = valid[i] end
end

redis.call('ZREMRANGEBYSCORE', by_user .. user, '-inf', ctx.now)
remove_sessions(user, others)
remove_sessions(user, ended)
for _, other in ipairs(ended) do emit(ctx, 'session.ended', handle_of(other), 'user=' .. user) end
local ends_ms = ctx.now + lifetime_ms
local ends = string.format('%.0f', ends_ms)
known.ends_ms = math.max(known.ends_ms, ends_ms)
local version = authz_ver >= 0 and authz_ver or known.authz_ver
local record = { 'user', user, 'created_ms', ctx.now_text, 'born_us', string.format('%.0f', known.not_before + 1), 'active_ms', ctx.now_text,
  'idle_ms', string.format('%.0f', idle_ms), 'ends_ms', ends, 'ver', '1', 'authz_ver', string.format('%.0f', version) }
local more = { 'name', name, 'roles', table.concat(roles, ','), 'permissions', table.concat(permissions, ','), 'address', address,
  'agent', agent, 'data', data }
for i = 1, #more, 2 do
  if more[i + 1] ~= '' then
    record[#record + 1] = more[i]
    record[#record + 1] = more[i + 1]
  end
end
redis.call('HSET', sessions .. hash, unpack(record))  -- at most 28: names and values of a session
keep_until_end(ctx, hash, ctx.now, idle_ms, ends_ms)
redis.call('ZADD', by_user .. user, ends, hash)
redis.call('ZADD', all, ends, hash)
write_user(ctx, user, known)
emit(ctx, 'session.created', handle_of(hash), 'user=' .. user)
sweep_ended(ctx, 10)
return conclude(ctx, 'create', 'created', { ctx.now, ends_ms, version, version == known.authz_ver and 0 or 1 })
