-- look_leases(key, now, cost, lease_ms, limit): what a rule of concurrency says to a hit, as look_gcra does. It waits for leases to end by
-- themselves, at the longest.
local function look_leases(key, now, cost, lease_ms, limit)
  local at_ms, wait = math.floor(now / 1000), 0
  local after = string.format('(%.0f', at_ms)
  local count = redis.call('ZCOUNT', key, after, '+inf')
  local left = limit - count
  if cost > 0 and left < cost then
    local first = redis.call('ZRANGE', key, after, '+inf', 'BYSCORE', 'LIMIT', count - limit, 1, 'WITHSCORES')
    wait = first[2] * 1000 - now
  end
  return math.max(0, left), wait, 0, { at_ms = at_ms, lease_ms = lease_ms }
end
