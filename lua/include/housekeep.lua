-- housekeep(conf, tally): once a second for each slot that claims: note the worker's presence, forget silent workers, old
-- ended tasks and keys of `once` whose time is over. False if more of these are left, for the next call.
-- NEEDS workers worker sweep_workers trim_ended sweep_once
local function housekeep(conf, tally)
  redis.call('ZADD', workers, conf.now_text, worker)
  sweep_workers(conf, tally)
  return trim_ended(conf, 100, tally) + sweep_once(conf, 100) < 100
end
