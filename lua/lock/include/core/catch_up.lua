-- catch_up(ctx, rids): end what is overdue, some of it anywhere, and all of these.
-- LATE
local function catch_up(ctx, rids)
  end_due(ctx, 16)
  end_overdue(ctx, rids)
end
