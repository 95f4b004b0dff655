-- catch_up(conf, rids): end what is overdue, some of it anywhere, and all of these.
-- NEEDS end_due end_overdue
local function catch_up(conf, rids)
  end_due(conf, 16)
  end_overdue(conf, rids)
end
