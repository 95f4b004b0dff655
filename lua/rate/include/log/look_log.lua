-- look_log(key, now, cost, period_us, limit): what a rule of a log says to a hit, as look_gcra does. Both ends of a period belong to it. The
-- time is that of the newest hit, if the clock of the server went back.
local function look_log(key, now, cost, period_us, limit)
  local newest, count, stale = tonumber(redis.call('LINDEX', key, 0) or 0), redis.call('LLEN', key), 0
  if newest > now then now = newest end
  if newest < now - period_us then stale = count else stale = stale_of(key, count, now - period_us) end
  local fresh, wait, reset = count - stale, 0, 0
  if fresh > 0 then reset = newest + period_us + 1 - now end
  if cost <= limit and cost > limit - fresh then wait = redis.call('LINDEX', key, limit - cost) + period_us + 1 - now end
  return math.max(0, limit - fresh), wait, reset, { now = now, fresh = fresh, stale = stale, period_us = period_us }
end
