-- repair_lane(ctx, lane): make `lanes` name this lane if and only if tasks wait in it. sound, damaged (in a dry run),
-- or repaired.
-- LATE
local function repair_lane(ctx, lane)
  local there = redis.call('EXISTS', ready .. lane)
  if redis.call('SISMEMBER', lanes, lane) == there then return 'sound' end
  if dry_run then return 'damaged' end
  if there == 1 then
    redis.call('SADD', lanes, lane)
    push_wake(ctx, lane, true)
  else
    lane_emptied(ctx, lane)
  end
  return 'repaired'
end
