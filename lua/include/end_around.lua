-- end_around(conf, parts): end what is overdue, as much as one call may, among the first to hold these resources or to wait for them; 256 are looked
-- at in a call.
local function end_around(conf, parts)
  local rids, spare = {}, conf.spare or 256
  for _, part in ipairs(conf.caught_up and {} or parts) do
    local members = members_below('r ' .. part.resource, math.min(spare, 64))
    for _, member in ipairs(members) do rids[#rids + 1] = string.match(member, '^.* (%S+)$') end
    spare = spare - #members
  end
  conf.spare = spare
  end_overdue(conf, rids, 200)
end
