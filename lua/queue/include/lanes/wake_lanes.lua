-- wake_lanes(ctx): leave a token in the lanes that hold tasks, in 1,000 of them; workers of others look again within 10 s.
local function wake_lanes(ctx)
  for _, lane in ipairs(redis.call('SRANDMEMBER', lanes, 1000)) do push_wake(ctx, lane) end
end
