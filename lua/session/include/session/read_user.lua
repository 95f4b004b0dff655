-- read_user(ctx, user): the record of a user, also of one that is not stored: not_before (microseconds), authz_ver, ends_ms; `exists`; and
-- begun, which not_before was when the record was made. A lost record ends all sessions, and revives none: the new one begins later.
local function read_user(ctx, user)
  local row = redis.call('HMGET', users .. user, 'not_before_us', 'authz_ver', 'ends_ms', 'begun_us')
  if not row[1] then
    local begun = ctx.now * 1000
    return { not_before = begun, authz_ver = 1, ends_ms = 0, begun = begun }
  end
  return { exists = true, not_before = tonumber(row[1]), authz_ver = tonumber(row[2]), ends_ms = tonumber(row[3]), begun = tonumber(row[4]) }
end
