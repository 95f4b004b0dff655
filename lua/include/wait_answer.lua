-- wait_answer(conf, rid, request): what a waiter is told besides: its place, how often to ask, whether all circles
-- were looked for.
local function wait_answer(conf, rid, request)
  read_rules(conf)
  return place_of(request), conf.poll_ms, conf.detection and redis.call('ZSCORE', unchecked, rid) and 0 or 1
end
