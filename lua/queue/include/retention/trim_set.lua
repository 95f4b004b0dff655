-- trim_set(ctx, set, keep_ms, max, limit): delete the oldest of the finished or the dead beyond an age (nil: none)
-- and a number, at most limit, and as many as ctx.work allows; how many. ctx.untrimmed: there are more. The dead go with an event each.
local function trim_set(ctx, set, keep_ms, max, limit)
  local ids, since = oldest_beyond(ctx, set, keep_ms, max, limit)
  if #ids == 0 then return 0 end
  local count, left = remove_tasks(ctx, ids, since, 'trimmed', math.max(ctx.work, 50))
  ctx.work = left - (set == dead and count or 0)
  ctx.untrimmed = ctx.untrimmed or count < #ids
  for i = 1, set == dead and count or 0 do emit(ctx, 'task.removed', ids[i], 'reason=retention') end
  redis.call('ZREMRANGEBYRANK', set, 0, count - 1)
  local counter = set == dead and 'dropped' or 'trimmed'
  add_count(ctx, counter, count)
  return count
end
