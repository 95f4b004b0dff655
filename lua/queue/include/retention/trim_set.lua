-- trim_set(ctx, set, keep_ms, max, limit): delete the oldest of the finished or the dead beyond an age (nil: none)
-- and a number, at most limit, and as many as ctx.work allows; how many. ctx.untrimmed: there are more. The dead go with an event each.
local function trim_set(ctx, set, keep_ms, max, limit)
  local gone, excess = {}, math.min(redis.call('ZCARD', set) - max, limit)
  if keep_ms then
    gone = redis.call('ZRANGE', set, '-inf', ctx.now - keep_ms, 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES')
  end
  if 2 * excess > #gone then gone = redis.call('ZRANGE', set, 0, excess - 1, 'WITHSCORES') end
  if #gone == 0 then return 0 end
  local ids, since = {}, {}
  for i = 1, #gone / 2 do ids[i], since[i] = gone[2 * i - 1], tonumber(gone[2 * i]) end
  local count, left = remove_tasks(ctx, ids, since, 'trimmed', math.max(ctx.work, 50))
  ctx.work = left - (set == dead and count or 0)
  ctx.untrimmed = ctx.untrimmed or count < #ids
  for i = 1, set == dead and count or 0 do emit(ctx, 'task.removed', ids[i], 'reason=retention') end
  redis.call('ZREMRANGEBYRANK', set, 0, count - 1)
  local counter = set == dead and 'dropped' or 'trimmed'
  add_count(ctx, counter, count)
  return count
end
