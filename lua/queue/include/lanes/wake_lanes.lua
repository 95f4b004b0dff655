-- wake_lanes(ctx): push a token into up to 1,000 lanes with ready tasks. Workers of other lanes claim again within 10
-- s.
local function wake_lanes(ctx)
  for _, lane in ipairs(redis.call('SRANDMEMBER', lanes, 1000)) do push_wake(ctx, lane) end
end
