-- refund_log(key, now, cost, period_us, limit): take the oldest hits of a log back; what the rule then allows.
local function refund_log(key, now, cost, period_us, limit)
  local _, _, _, mark = look_log(key, now, 0, period_us, limit)
  local fresh = math.max(0, mark.fresh - cost)
  if fresh == 0 then redis.call('DEL', key) else redis.call('LTRIM', key, 0, fresh - 1) end
  return math.max(0, limit - fresh)
end
