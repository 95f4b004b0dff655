-- repair_lane(ctx, lane): let `lanes` have this one just if tasks are in line there. sound, damaged (where nothing is to be
-- written), or repaired.
-- LATE
local function repair_lane(ctx, lane)
  local there = redis.call('EXISTS', ready .. lane)
  if redis.call('SISMEMBER', lanes, lane) == there then return 'sound' end
  if dry_run then return 'damaged' end
  if there == 1 then
    redis.call('SADD', lanes, lane)
    push_wake(ctx, lane)
  else
    lane_emptied(ctx, lane)
  end
  return 'repaired'
end
