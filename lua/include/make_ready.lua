-- make_ready(conf, by_lane): put tasks in line and wake a worker; by_lane[lane] = { score, id, score, id, … } (line_up).
-- NEEDS ready lanes push_wake
local function make_ready(conf, by_lane)
  for lane, members in pairs(by_lane) do
    for first = 1, #members, 7000 do
      redis.call('ZADD', ready .. lane, unpack(members, first, math.min(first + 6999, #members)))
    end
    redis.call('SADD', lanes, lane)
    push_wake(conf, lane)
  end
end
