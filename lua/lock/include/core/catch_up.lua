-- catch_up(ctx, rids): end overdue requests: up to 16 of the domain, and all overdue ones among rids.
-- LATE
local function catch_up(ctx, rids)
  end_due(ctx, 16)
  end_overdue(ctx, rids)
end
