-- place_task(ctx, id, own, place, by_lane): put a new task where it waits: for other tasks, for its time, in its lane,
-- or in the queue of a limit if others wait there already.
-- EARLY
local function place_task(ctx, id, own, place, by_lane)
  if own.awaits then return end  -- for other tasks: join_chains has placed it
  local due_ms = math.max(ctx.now + (own.delay_ms or 0), own.run_after_ms or 0)
  local tied = own.fallback_after_ms or own.expires_at_ms
  if due_ms > ctx.now then
    delay_until(ctx, due_ms, id, own.lane or 'any')
  else
    local band = own.priority or 5
    local score = band * BAND + (ctx.settings.fair > 0 and share_place(ctx, own.lane or 'any', own.user or '', band) or place)
    local limit = ctx.settings.limits > 0 and find_line(ctx, own)
    if limit then
      ctx.lined[#ctx.lined + 1] = id
      if ctx.settings.fair > 0 then ctx.aside[own.lane or 'any'] = true end
      return join_limit(ctx, id, string.format('%.0f', score), limit, full_score(ctx), tied)
    end
    line_up(by_lane, own.lane or 'any', score, id)
  end
  if tied then await_deadline(ctx, id, due_ms) end
end
