-- end_limited(ctx, next_ms): after a claim: cancel those that are to go for others of their limit, let others start where
-- one was let go that waits for another limit now, and answer the earlier of a time (0: none) and that when the line of a limit
-- is looked at next. While there are lines that is in 5 s at the latest, for nobody is told of a limit that is changed.
-- ctx.timed: lanes in which this claim has met a rate. It leaves a token there, for its worker may be busy when the next may start.
local function end_limited(ctx, next_ms)
  if ctx.started[1] then note_starts(ctx) end
  for _, id in ipairs(ctx.victims) do cancel_one(ctx, id) end
  local lined, seen = {}, {}
  for _, key in ipairs(ctx.spared) do
    if not seen[key] and redis.call('ZSCORE', limit_lines, key) then lined[#lined + 1] = key end
    seen[key] = true
  end
  if lined[1] then drain_limit_queues(ctx, lined) end
  local recheck_at_ms = redis.call('ZRANGE', limit_lines, 0, 0, 'WITHSCORES')[2]
  if not recheck_at_ms then return next_ms end
  if recheck_at_ms - ctx.now < 10000 then
    for lane in pairs(ctx.timed) do push_due(lane) end
  end
  recheck_at_ms = ctx.lines_left and ctx.now or math.max(ctx.now, math.min(recheck_at_ms, ctx.now + 5000))
  return next_ms == 0 and recheck_at_ms or math.min(recheck_at_ms, next_ms)
end
