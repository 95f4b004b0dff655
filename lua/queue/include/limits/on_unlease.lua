-- limits_on_unlease(ctx, ids): the tasks no longer count for their limits, so the next tasks in those queues may start.
-- WHEN ctx.settings.limits > 0
local function limits_on_unlease(ctx, ids)
  local freed, keys, lined = {}, {}, {}
  for i, lease in ipairs(redis.call('HMGET', running, unpack(ids))) do  -- at most 1,000: as end_leases
    for _, key in ipairs(held_limits(lease)) do
      local members = freed[key]
      if members then
        members[#members + 1] = ids[i]
      else
        keys[#keys + 1], freed[key] = key, { ids[i] }
      end
    end
  end
  ctx.steps = ctx.steps + 2 * #ids
  ctx.work = ctx.work - 3 * #keys
  for first = 1, #keys, 1000 do
    local looks = redis.call('ZMSCORE', limit_lines, unpack(keys, first, math.min(first + 999, #keys)))  -- at most 1,000: a page
    for i = first, math.min(first + 999, #keys) do
      local key = keys[i]
      redis.call('ZREM', holding .. key, unpack(freed[key]))  -- at most 1,000: ids
      if ctx.limit[key] then ctx.limit[key].held = nil end
      if looks[i - first + 1] then lined[#lined + 1] = key end
    end
  end
  if #lined > 0 then drain_limit_queues(ctx, lined) end
end
