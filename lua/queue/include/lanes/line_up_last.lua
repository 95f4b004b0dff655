-- line_up_last(ctx, by_lane, id, place, lane, priority, user): note a task for make_ready, behind all others of its lane and
-- priority, and of its user with fair shares. place: a new place, for queues without fair shares.
local function line_up_last(ctx, by_lane, id, place, lane, priority, user)
  lane = lane or 'any'
  local band = tonumber(priority or 5)
  if ctx.settings.fair > 0 then place = share_place(ctx, lane, user or '', band) end
  redis.call('HSET', task .. id, 'ready_ms', ctx.now_text)
  line_up(by_lane, lane, band * BAND + place, id)
end
