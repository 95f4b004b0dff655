-- find_line(ctx, own): for a new task: the first of its limits whose queue is not empty. The task joins this queue at
-- once.
local function find_line(ctx, own)
  local limited = limits_of(ctx, own.user or '', own.tags and table.concat(own.tags, ',') or '', own.limits and table.concat(own.limits, ',') or '')
  for _, limit in ipairs(limited) do
    if ctx.in_line[limit.key] == nil then ctx.in_line[limit.key] = redis.call('EXISTS', waiting .. limit.key) == 1 end
    if ctx.in_line[limit.key] and limit.policy == 'queue' then return limit end
  end
end
