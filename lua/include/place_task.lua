-- place_task(conf, id, own, place, by_lane): let a new task wait for what it says: for other tasks, for its time, or in line; or
-- in the line of a limit, where others wait already.
-- EARLY
local function place_task(conf, id, own, place, by_lane)
  if own.parent and conf.chains then join_gathering(conf, id, own.parent) end
  if own.after or own.gather or own.behind then return await_others(conf, id, own, place) end
  local due_ms = math.max(conf.now + (own.delay_ms or 0), own.run_after_ms or 0)
  local tied = own.fallback_after_ms or own.expires_at_ms
  if due_ms > conf.now then
    delay_until(conf, due_ms, id, own.lane or 'any')
  else
    local band = own.priority or 5
    local score = band * BAND + (conf.fair and share_place(conf, own.lane or 'any', own.user or '', band) or place)
    local limit = conf.limits and find_line(conf, own)
    if limit then
      conf.lined[#conf.lined + 1] = id
      if conf.fair then conf.aside[own.lane or 'any'] = true end
      return join_limit(conf, id, string.format('%.0f', score), limit, conf.full, tied)
    end
    line_up(by_lane, own.lane or 'any', score, id)
  end
  if tied then await_deadline(conf, id, due_ms) end
end
