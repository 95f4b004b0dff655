-- count_log(key, mark, cost): count a hit of a log, and forget those that no longer count. mark: from look_log. Returns how long the hit
-- counts.
local function count_log(key, mark, cost)
  if mark.fresh == 0 then
    redis.call('DEL', key)
  elseif mark.stale > 0 then
    redis.call('LTRIM', key, 0, mark.fresh - 1)
  end
  local times = {}
  for i = 1, cost do times[i] = mark.now end
  redis.call('LPUSH', key, unpack(times))  -- at most 5,000: limit of a log
  expire_in(key, math.ceil(mark.period_us / 1000) + 1)
  return mark.period_us + 1
end
