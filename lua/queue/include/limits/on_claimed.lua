-- limits_on_claimed(ctx): finish the limits of a claim: cancel the tasks that others preempt, let other tasks start where one waits
-- for another limit now, and let ctx.next_ms be no later than the next look at a limit queue. With queues that is at most 5 s,
-- because a change of a limit wakes no worker. ctx.timed: lanes in which this claim met a rate. It leaves a token there, because its
-- own worker may be busy when the next task may start.
-- WHEN ctx.settings.limits > 0
local function limits_on_claimed(ctx)
  if ctx.started[1] then note_starts(ctx) end
  for _, id in ipairs(ctx.victims) do cancel_one(ctx, id) end
  local lined, seen = {}, {}
  for _, key in ipairs(ctx.spared) do
    if not seen[key] and redis.call('ZSCORE', limit_lines, key) then lined[#lined + 1] = key end
    seen[key] = true
  end
  if lined[1] then drain_limit_queues(ctx, lined) end
  local recheck_at_ms = redis.call('ZRANGE', limit_lines, 0, 0, 'WITHSCORES')[2]
  if not recheck_at_ms then return end
  if recheck_at_ms - ctx.now < 10000 then
    for lane in pairs(ctx.timed) do push_due(lane) end
  end
  recheck_at_ms = ctx.lines_left and ctx.now or math.max(ctx.now, math.min(recheck_at_ms, ctx.now + 5000))
  ctx.next_ms = ctx.next_ms == 0 and recheck_at_ms or math.min(recheck_at_ms, ctx.next_ms)
end
