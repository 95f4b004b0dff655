-- refund_gcra(key, now, cost, pace, burst): take a hit of gcra back; what the rule then allows.
local function refund_gcra(key, now, cost, pace, burst)
  local left, _, _, due = look_gcra(key, now, 0, pace, burst * pace)
  store_arrival(key, now, due - cost * pace)
  return math.min(burst, left + cost)
end
