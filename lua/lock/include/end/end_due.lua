-- end_due(ctx, limit): end at most limit requests whose deadline has come, and forget as many that ended two minutes
-- ago. Returns how many were ended. ctx.caught_up: there are no more. ctx.due: when there is work again. Forgetting may
-- wait for a second, so that not every call does it. A request with many locks counts for several.
-- LATE
local function end_due(ctx, limit)
  ctx.caught_up = ctx.now < ctx.due
  if ctx.caught_up then return 0 end
  local rids = redis.call('ZRANGE', deadlines, 0, ctx.now, 'BYSCORE', 'LIMIT', 0, limit)
  local ended = rids[1] and end_rids(ctx, rids, 100 + 5 * limit) or 0
  ctx.caught_up = #rids < limit and ended == #rids
  local next_due = redis.call('ZRANGE', deadlines, 0, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2]
  ctx.due = math.min(tonumber(next_due or MAX_SAFE), sweep_ended(ctx, limit))
  ctx.grants, ctx.looks = nil, nil -- the call's own releases get a fresh budget, so that they do not wait for the overdue ones
  return ended
end
