-- make_ready(conf, by_lane): put tasks in line and wake a worker; by_lane[lane] = { score, id, score, id, … } (line_up).
-- The shares of a lane with tasks in line do not end, wherever the tasks came from.
local function make_ready(conf, by_lane)
  for lane, members in pairs(by_lane) do
    for first = 1, #members, 7000 do
      redis.call('ZADD', ready .. lane, unpack(members, first, math.min(first + 6999, #members)))
    end
    redis.call('SADD', lanes, lane)
    if conf.fair then redis.call('PERSIST', shares .. lane) end
    push_wake(conf, lane)
  end
end
