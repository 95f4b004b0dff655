-- hold_limits(ctx, id, limited, fence): count a task that starts in its concurrency limits, until its lease ends, and
-- in its rates (note_starts stores them). Returns the keys of the concurrency limits, for the lease.
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
