-- room_left(ctx, limit): how many more tasks a limit lets start now, and the score of its queue in limit_lines: when to
-- look again, at most 5 s ahead. Rates that are used up are looked at together, so that idle workers do not poll each
-- queue. If the concurrency is used up, the score is full_score: the end of a lease opens the queue. limit.idle: for 5
-- s the rate would have allowed a start, but no task started.
local function room_left(ctx, limit)
  local room, recheck_at_ms = MAX_SAFE, ctx.now + 5000
  if limit.most then
    limit.held = limit.held or redis.call('ZCARD', holding .. limit.key)
    if limit.held >= limit.most then return 0, full_score(ctx) end
    room = limit.most - limit.held
  end
  if limit.interval_ms then
    local next_ms = limit.next_ms or tonumber(limit.rate_ms or redis.call('ZSCORE', rates, limit.key) or 0)
    if next_ms > ctx.now + limit.slack_ms + limit.interval_ms + 1 then next_ms = 0 end  -- it is of another rule for this key
    limit.idle = next_ms - limit.slack_ms <= ctx.now - 5000
    local ahead_ms
    limit.next_ms, ahead_ms = gcra(next_ms, ctx.now, limit.slack_ms)
    ahead_ms = ahead_ms - 0.5  -- sums of fractions are not exact
    local starts = math.max(0, math.floor(-ahead_ms / limit.interval_ms) + 1)
    local next_look_ms = math.ceil(ctx.now + ahead_ms + starts * limit.interval_ms)
    if starts == 0 and next_look_ms > recheck_at_ms then recheck_at_ms = ctx.now - ctx.now % 5000 + 5000 end
    room, recheck_at_ms = math.min(room, starts), math.min(recheck_at_ms, next_look_ms)
  end
  return room, recheck_at_ms
end
