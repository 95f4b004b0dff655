-- expire_nearby(ctx, parts): end what is overdue among the first holders and waiters of these resources, as much as one
-- call may; looks at 256.
local function expire_nearby(ctx, parts)
  local rids, spare = {}, ctx.spare or 256
  for _, part in ipairs(ctx.caught_up and {} or parts) do
    local members = members_below('r ' .. part.resource, math.min(spare, 64))
    for _, member in ipairs(members) do rids[#rids + 1] = string.match(member, '^.* (%S+)$') end
    spare = spare - #members
  end
  ctx.spare = spare
  end_overdue(ctx, rids, 200)
end
