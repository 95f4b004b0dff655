-- retain(conf, tally): after tasks have ended, keep the sets of ended tasks within their numbers. Ages are looked after by
-- trim_ended.
-- NEEDS config finished dead emit trim_set
local function retain(conf, tally)
  if conf.ended > 0 and redis.call('ZCARD', finished) > conf.finished_max then
    local trimmed = trim_set(conf, finished, nil, conf.finished_max, 100 + conf.ended)
    if #trimmed > 0 then tally.trimmed = (tally.trimmed or 0) + #trimmed end
  end
  if tally.dead then
    local max = tonumber(redis.call('HGET', config, 'dead_max') or 100000)
    local dropped = trim_set(conf, dead, nil, max, 100 + tally.dead)
    for _, id in ipairs(dropped) do emit(conf, 'task.removed', id, 'reason=retention') end
    if #dropped > 0 then tally.dropped = (tally.dropped or 0) + #dropped end
  end
end
