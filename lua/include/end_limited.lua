-- end_limited(conf, next_ms, tally): after a claim: cancel those that are to go for others of their limit, let others start where
-- one was let go that waits for another limit now, and answer the earlier of a time (0: none) and that when the line of a limit
-- is looked at next. While there are lines that is in 5 s at the latest, for nobody is told of a limit that is changed.
-- conf.timed: lanes in which this claim has met a rate. It leaves a token there, for its worker may be busy when the next may start.
local function end_limited(conf, next_ms, tally)
  if conf.started[1] then note_starts(conf) end
  for _, id in ipairs(conf.victims) do cancel_one(conf, id, tally) end
  local lined, seen = {}, {}
  for _, key in ipairs(conf.spared) do
    if not seen[key] and redis.call('ZSCORE', limit_lines, key) then lined[#lined + 1] = key end
    seen[key] = true
  end
  if lined[1] then open_lines(conf, lined) end
  local look_ms = redis.call('ZRANGE', limit_lines, 0, 0, 'WITHSCORES')[2]
  if not look_ms then return next_ms end
  if look_ms - conf.now < 10000 then
    for lane in pairs(conf.timed) do push_due(lane) end
  end
  look_ms = conf.lines_left and conf.now or math.max(conf.now, math.min(look_ms, conf.now + 5000))
  return next_ms == 0 and look_ms or math.min(look_ms, next_ms)
end
