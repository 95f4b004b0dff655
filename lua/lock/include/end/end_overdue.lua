-- end_overdue(ctx, rids, work): end the overdue requests among rids, unless end_due has already ended all overdue
-- requests.
local function end_overdue(ctx, rids, work)
  if ctx.caught_up or #rids == 0 then return end
  local due = {}
  for i, deadline_ms in ipairs(redis.call('ZMSCORE', deadlines, unpack(rids))) do  -- at most 1,000: items, or 256 of expire_nearby
    local at = tonumber(deadline_ms or -1)
    if at >= 0 and at <= ctx.now then due[#due + 1] = rids[i] end
  end
  end_rids(ctx, due, work or MAX_SAFE)
end
