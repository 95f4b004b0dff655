-- session.get.v1: read a session, by the hash of its id. With `touch`, this is a use of the session, which does not end by idleness then.
-- `authz_ver` is that of the user: if the session has another, read the roles of the user again and update the session. `rotated`: the
-- session has a new id, which only the program that has rotated it knows; this one is valid for a while.
--
-- ARGV   hash      id
-- ARGV   touch     bool ?=1
-- ARGV   now_ms    int 0..9000000000000 ?=0
-- RETURN ok        now_ms:int authz_ver:int session:pairs(session)
-- RETURN rotated   now_ms:int authz_ver:int session:pairs(session)
-- RETURN gone      now_ms:int
-- ERROR  ADEQ_LAYOUT ADEQ_CLOCK
-- ROLE   use
-- REPLAY idempotent
-- FLAGS  allow-oom
-- COST   4 commands, 6 if it writes when the session was used last; at most 8 commands, 110 steps

local ctx, refused = open()
if refused then return refused end
local own, record, authz_ver, rotated = find_session(ctx, hash)
if not own then return { 'gone', ctx.now } end
if touch and ctx.now - own.active_ms > math.min(WAIT_touch_ms, own.idle_ms / 10) then
  redis.call('HSET', sessions .. own.hash, 'active_ms', ctx.now_text)
  keep_until_end(ctx, own.hash, ctx.now, own.idle_ms, tonumber(own.ends_ms))
  for i = 1, #record, 2 do
    if record[i] == 'active_ms' then record[i + 1] = ctx.now_text end
  end
end
return { rotated and 'rotated' or 'ok', ctx.now, authz_ver, record }
