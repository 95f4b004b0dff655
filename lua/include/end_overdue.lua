-- end_overdue(conf, rids, work): end those of some requests whose deadline has come, where end_due has not seen to all.
local function end_overdue(conf, rids, work)
  if conf.caught_up or #rids == 0 then return end
  local due = {}
  for i, deadline_ms in ipairs(redis.call('ZMSCORE', deadlines, unpack(rids))) do  -- at most 1,000: items, or 256 of end_around
    local at = tonumber(deadline_ms or -1)
    if at >= 0 and at <= conf.now then due[#due + 1] = rids[i] end
  end
  if due[1] then end_rids(conf, due, work or MAX_SAFE) end
end
