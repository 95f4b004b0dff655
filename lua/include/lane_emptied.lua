-- lane_emptied(lane): no task is in line there any more. Its token goes, unless it may be there for a due time.
-- NEEDS lanes wake delayed
local function lane_emptied(lane)
  redis.call('SREM', lanes, lane)
  if redis.call('EXISTS', delayed) == 0 then redis.call('DEL', wake .. lane) end
end
