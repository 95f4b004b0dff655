-- read_user(ctx, user): the record of a user, also of one that is not stored: not_before and born (microseconds), authz_ver, ends_ms;
-- `exists`; and `begun`, whether nothing was revoked since the record was made. A lost record ends all sessions, and revives none.
local function read_user(ctx, user)
  local row = redis.call('HMGET', users .. user, 'not_before_us', 'born_us', 'authz_ver', 'ends_ms', 'begun_us')
  if not row[1] then
    local begun = ctx.now * 1000 + 999  -- no earlier session of this millisecond is valid either
    return { not_before = begun, born = begun, authz_ver = 1, ends_ms = 0, begun = begun }
  end
  return { exists = true, not_before = tonumber(row[1]), born = tonumber(row[2]), authz_ver = tonumber(row[3]),
    ends_ms = tonumber(row[4]), begun = tonumber(row[5]) }
end
