-- push_due(lane): leave a token for a time within the longest block, 10 s, of which nobody who is blocked has learned: who
-- takes it blocks until then. In a pause, too, for it tells of a time and not of a task. It goes by itself.
local function push_due(lane)
  if redis.call('EXISTS', wake .. lane) == 0 then redis.call('LPUSH', wake .. lane, '1') end
  redis.call('PEXPIRE', wake .. lane, 60000)
end
