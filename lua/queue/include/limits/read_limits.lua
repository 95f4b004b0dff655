-- read_limits(ctx, keys): the limits for these keys: each has its own, or that of its kind (`user:*`). A rule is stored
-- as '<concurrency> <policy> <interval_ms> <burst>', with 0 for not limited. Each limit is one table per call (cached
-- in ctx.limit). room_left adds `held` and `next_ms` to it.
local function read_limits(ctx, keys)
  local names, found = {}, {}
  for i, key in ipairs(keys) do names[2 * i - 1], names[2 * i] = key, string.sub(key, 1, string.find(key, ':', 1, true) or -1) .. '*' end
  local rules = redis.call('HMGET', limits, unpack(names))  -- at most 2,000: two for each key of a task, or of a page of lines
  for i, key in ipairs(keys) do
    local rule, limit = rules[2 * i - 1] or rules[2 * i], ctx.limit[key]
    if rule and not limit then
      local most, policy, interval_ms, burst = string.match(rule, '^(%d+) (%S+) (%S+) (%d+)$')
      limit = {
        key = key, policy = policy, most = most ~= '0' and tonumber(most),
        interval_ms = interval_ms ~= '0' and tonumber(interval_ms), slack_ms = (burst - 1) * interval_ms,
      }
      ctx.limit[key] = limit
    end
    found[#found + 1] = limit
  end
  return found
end
