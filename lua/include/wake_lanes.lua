-- wake_lanes(conf): leave a token in the lanes that hold tasks, about the first 1,000 of them; workers of others look again
-- within 10 s.
-- NEEDS lanes push_wake
local function wake_lanes(conf)
  local names = redis.call('SSCAN', lanes, 0, 'COUNT', 1000)[2]
  for i = 1, math.min(#names, 1000) do push_wake(conf, names[i]) end
end
