-- retain(conf, tally): after tasks have ended, keep the sets of ended tasks within their numbers. Ages are looked after by
-- trim_ended.
local function retain(conf, tally)
  conf.work = math.max(conf.work, 50) + 25 * (conf.ended + (tally.dead or 0))  -- as many go as come, whatever they have
  if conf.ended > 0 and redis.call('ZCARD', finished) > conf.finished_max then
    trim_set(conf, finished, nil, conf.finished_max, 100 + conf.ended, tally)
  end
  if tally.dead then
    local max = tonumber(redis.call('HGET', config, 'dead_max') or DEFAULT_dead_max)
    trim_set(conf, dead, nil, max, 100 + tally.dead, tally)
  end
end
