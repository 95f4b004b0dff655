-- session.set_user.v1: end all sessions of a user (`revoke`), but for `keep`, the hash of one that stays valid; or have their roles read
-- again (`renew_authz`), because the rights of the user have changed; or both. Sessions that are made later are valid.
--
-- ARGV   rid         id
-- ARGV   user        label
-- ARGV   revoke      bool             ?=0
-- ARGV   renew_authz bool             ?=0
-- ARGV   keep        id               ?=
-- ARGV   source      bytes 0..200     ?=
-- ARGV   trace       bytes 0..128     ?=
-- ARGV   now_ms      int 0..9000000000000 ?=0
-- RETURN ok          now_ms:int not_before_us:int authz_ver:int ended:int kept:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  session.user
-- ROLE   auth
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   15 commands; at most 1,200 commands, 12,000 steps

local ctx, refused = open()
if refused then return refused end
local before = concluded_before(ctx, 'set_user')
if before then return before end
local known = read_user(ctx, user)
local ended, kept = 0, 0
if renew_authz then known.authz_ver = known.authz_ver + 1 end
if revoke then
  local own = keep ~= '' and find_session(ctx, keep)
  if own and own.user ~= user then own = nil end
  local valid, others = sort_out(ctx, user, known)
  known.not_before = math.max(ctx.now * 1000, known.not_before + 1)
  for _, hash in ipairs(valid) do
    if not (own and own.hash == hash) then
      others[#others + 1] = hash
      ended = ended + 1
    end
  end
  if own then
    kept = 1
    redis.call('HSET', sessions .. own.hash, 'born_us', string.format('%.0f', known.not_before + 1))
  end
  remove_sessions(user, others)
end
write_user(ctx, user, known)
emit(ctx, 'session.user', user, (revoke and 'revoked=' .. ended .. ' ' or '') .. string.format('authz_ver=%.0f', known.authz_ver))
return conclude(ctx, 'set_user', 'ok', { known.not_before, known.authz_ver, ended, kept })
