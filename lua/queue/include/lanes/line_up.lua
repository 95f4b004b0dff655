-- line_up(by_lane, lane, score, id): note a task for make_ready.
-- EARLY
local function line_up(by_lane, lane, score, id)
  local members = by_lane[lane]
  if not members then
    members = {}
    by_lane[lane] = members
  end
  members[#members + 1] = score
  members[#members + 1] = id
end
