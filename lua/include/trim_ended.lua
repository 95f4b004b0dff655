-- trim_ended(conf, limit, tally): delete ended tasks beyond what the queue keeps by age and number, at most limit of the
-- finished and of the dead; how many.
-- NEEDS config finished dead emit trim_set
local function trim_ended(conf, limit, tally)
  local row = redis.call('HMGET', config, 'finished_keep_ms', 'dead_keep_ms', 'dead_max')
  local trimmed = trim_set(conf, finished, tonumber(row[1] or 604800000), conf.finished_max, limit)
  local dropped = trim_set(conf, dead, tonumber(row[2] or 2592000000), tonumber(row[3] or 100000), limit)
  for _, id in ipairs(dropped) do emit(conf, 'task.removed', id, 'reason=retention') end
  if #trimmed > 0 then tally.trimmed = (tally.trimmed or 0) + #trimmed end
  if #dropped > 0 then tally.dropped = (tally.dropped or 0) + #dropped end
  return #trimmed + #dropped
end
