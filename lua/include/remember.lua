-- remember(conf, rid, outcome): keep for two minutes how a request ended: one that has ended never holds again. In
-- `deadlines` those stand below zero, apart from the live.
local function remember(conf, rid, outcome)
  set_record(conf, rid, 'ended ' .. outcome)
  redis.call('ZADD', deadlines, conf.now + WAIT_ended_ms - 1e15, rid)
  conf.due = math.min(conf.due, conf.now + 121000)
end
