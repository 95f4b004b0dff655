-- write_user(ctx, user, known): store the record of a user, as read_user gives it, until a while after the end of the last session.
local function write_user(ctx, user, known)
  redis.call('HSET', users .. user, 'not_before_us', string.format('%.0f', known.not_before), 'authz_ver',
    string.format('%.0f', known.authz_ver), 'ends_ms', string.format('%.0f', known.ends_ms), 'begun_us', string.format('%.0f', known.begun))
  local keep_ms = math.max(known.ends_ms - ctx.now, 0) + WAIT_user_ms
  redis.call('PEXPIRE', users .. user, keep_ms)
  redis.call('PEXPIRE', by_user .. user, keep_ms)
end
