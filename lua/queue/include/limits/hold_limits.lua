-- hold_limits(ctx, id, limited, fence): a task starts: it counts for its limits until its lease ends. The keys of those that it
-- holds, for its lease. note_starts writes what it does to their rates.
local function hold_limits(ctx, id, limited, fence)
  local keys = {}
  for _, limit in ipairs(limited) do
    if limit.most then
      redis.call('ZADD', holding .. limit.key, fence, id)
      limit.held = limit.held + 1
      keys[#keys + 1] = limit.key
    end
    if limit.interval_ms then
      ctx.timed[ctx.lane] = true
      limit.next_ms = limit.next_ms + limit.interval_ms
      if not limit.started then ctx.started[#ctx.started + 1], limit.started = limit, true end
    end
  end
  return table.concat(keys, ',')
end
