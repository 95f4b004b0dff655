-- merge_task(ctx, twin, by, stamp, own, data): answer an enqueue with a task that is there, and was found by that name. The
-- call may come again when that task has ended, so the answer is remembered; and with coalesce=last, a scope's task gets the
-- newcomer's payload.
local function merge_task(ctx, twin, by, stamp, own, data)
  if by == 'rid' then return end
  hold_once(ctx, 'rid:' .. stamp, twin, WAIT_rid_ms)
  if by == 'key' then return end
  hold_keys(ctx, twin, own, true)
  if by == 'scope' and own.coalesce == 'last' then
    redis.call('SET', payload .. twin, data)
    redis.call('HSET', task .. twin, 'size', #data)
  end
end
