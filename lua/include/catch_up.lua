-- catch_up(conf, rids): end what is overdue, some of it anywhere, and all of these.
-- LATE
local function catch_up(conf, rids)
  end_due(conf, 16)
  end_overdue(conf, rids)
end
