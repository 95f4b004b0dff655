-- hold_limits(ctx, id, limited, fence): count a task that starts in its concurrency limits, until its lease ends, and
-- in its rates (note_starts and write_limits store them). Returns the keys of the concurrency limits, for the lease.
local function hold_limits(ctx, id, limited, fence)
  for _, limit in ipairs(limited) do
    if limit.most then
      local rows = ctx.holds[limit.key] or {}
      rows[#rows + 1], rows[#rows + 2], ctx.holds[limit.key] = fence, id, rows
      limit.held = limit.held + 1
    end
    if limit.interval_ms then
      ctx.timed[ctx.lane] = true
      limit.next_ms = limit.next_ms + limit.interval_ms
      if not limit.started then ctx.started[#ctx.started + 1], limit.started = limit, true end
    end
  end
  return limited.held_as
end
