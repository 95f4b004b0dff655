-- lane_emptied(lane): no task is in line there any more. Its token goes; one that may be there for a time goes by itself.
-- NEEDS lanes wake delayed deadlines
local function lane_emptied(lane)
  redis.call('SREM', lanes, lane)
  if redis.call('EXISTS', delayed, deadlines) == 0 then
    redis.call('DEL', wake .. lane)
  else
    redis.call('PEXPIRE', wake .. lane, 60000)
  end
end
