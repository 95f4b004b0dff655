-- housekeep(conf, tally, wanted): once a second for each slot that claims: note the worker's presence, mend lines of limits, forget silent workers, old
-- ended tasks and keys of `once` whose time is over. False if more of these are left, for the next call.
local function housekeep(conf, tally, wanted)
  redis.call('ZADD', workers, conf.now_text, worker)
  local trimmed = trim_ended(conf, 100, tally)
  sweep_workers(conf, tally)
  if conf.limits then
    sweep_rates(conf)
    mend_lines(conf)
  end
  if conf.fair then sweep_shares(conf, wanted) end
  return trimmed + sweep_once(conf, 100) < 100 and not conf.untrimmed
end
