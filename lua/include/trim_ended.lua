-- trim_ended(conf, limit, tally): delete ended tasks beyond what the queue keeps by age and number, at most limit of the
-- finished and of the dead; how many.
-- NEEDS config finished dead trim_set
local function trim_ended(conf, limit, tally)
  local row = redis.call('HMGET', config, 'finished_keep_ms', 'dead_keep_ms', 'dead_max')
  local finished_keep_ms, dead_keep_ms = tonumber(row[1] or 604800000), tonumber(row[2] or 2592000000)
  return trim_set(conf, finished, finished_keep_ms, conf.finished_max, limit, tally)
    + trim_set(conf, dead, dead_keep_ms, tonumber(row[3] or 100000), limit, tally)
end
