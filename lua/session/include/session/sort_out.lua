-- sort_out(ctx, user, known): the stored sessions of a user that are valid, and the others, each in the order of their ends.
local function sort_out(ctx, user, known)
  local valid, others = {}, {}
  for _, hash in ipairs(redis.call('ZRANGE', by_user .. user, 0, 999)) do  -- a user has no more
    local row = known.exists and redis.call('HMGET', sessions .. hash, 'user', 'born_us', 'active_ms', 'idle_ms', 'ends_ms')
    local list = row and is_valid(ctx, known.not_before, row) and valid or others
    list[#list + 1] = hash
  end
  return valid, others
end
