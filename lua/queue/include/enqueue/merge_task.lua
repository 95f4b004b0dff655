-- merge_task(ctx, twin, by, stamp, own, data): answer an enqueue with an existing task. by: what both have in common
-- (`rid`, `key`, `scope`, `unique`). It stores the answer, because the call may be repeated after that task has ended.
-- With coalesce=last, the task of a scope gets the new payload, and its data tier if that is stricter.
local function merge_task(ctx, twin, by, stamp, own, data)
  if by == 'rid' then return end
  hold_once(ctx, 'rid:' .. stamp, twin, WAIT_rid_ms)
  if by == 'key' then return end
  hold_keys(ctx, twin, own, true)
  if by == 'scope' and own.coalesce == 'last' then
    redis.call('SET', payload .. twin, data)
    redis.call('HSET', task .. twin, 'size', #data)
    local strictness = { public = 1, internal = 2, confidential = 3, restricted = 4 }
    local tier = own.tier or ctx.settings.tier
    if strictness[tier] > strictness[redis.call('HGET', task .. twin, 'tier') or 'internal'] then
      redis.call('HSET', task .. twin, 'tier', tier)
    end
  end
end
