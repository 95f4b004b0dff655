-- trim_ended(conf, limit, tally): delete ended tasks beyond what the queue keeps by age and number, at most limit of the
-- finished and of the dead; how many.
-- NEEDS config finished dead trim_set
local function trim_ended(conf, limit, tally)
  local row = redis.call('HMGET', config, 'finished_keep_ms', 'dead_keep_ms', 'dead_max')
  local finished_keep_ms, dead_keep_ms = tonumber(row[1] or DEFAULT_finished_keep_ms), tonumber(row[2] or DEFAULT_dead_keep_ms)
  return trim_set(conf, finished, finished_keep_ms, conf.finished_max, limit, tally)
    + trim_set(conf, dead, dead_keep_ms, tonumber(row[3] or DEFAULT_dead_max), limit, tally)
end
