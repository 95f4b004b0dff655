-- session.revoke.v1: end sessions, by the hashes of their ids, also by an older one in its grace; or, with `user`, by their handles, as
-- `list` shows them. Only one of two calls with another `rid` is told `revoked`: it has ended the session.
--
-- ARGV   rid       id
-- ARGV   user      label            ?=
-- ARGV   source    bytes 0..200     ?=
-- ARGV   trace     bytes 0..128     ?=
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- ITEM   id        id
-- GROUP  item      1..100
-- RETURN ok        now_ms:int items:list(item)
-- EACH   item      revoked
-- EACH   item      gone
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- EVENT  session.revoked
-- ROLE   auth
-- REPLAY rid
-- FLAGS  allow-oom
-- COST   7 commands and 6 for each session; at most 670 commands, 11,000 steps

local ctx, refused = open()
if refused then return refused end
local answers = replayed_answers(ctx, 'revoke', item_count)
if answers then return { 'ok', ctx.now, answers } end
local hashes = {}
if user ~= '' then
  for _, hash in ipairs(redis.call('ZRANGE', by_user .. user, 0, 999)) do  -- a user has no more
    hashes[handle_of(hash)] = hash
  end
end
answers = {}
for i = 1, item_count do
  local hash = item_id[i]
  if user ~= '' then hash = hashes[hash] end
  local own = hash and find_session(ctx, hash)
  answers[i] = { own and 'revoked' or 'gone' }
  if own then
    remove_sessions(own.user, { own.hash })
    emit(ctx, 'session.revoked', handle_of(own.hash), 'user=' .. own.user)
  end
end
if not ctx.exists then create_base() end
note_answers(ctx, 'revoke', answers)
return { 'ok', ctx.now, answers }
