-- place_task(conf, id, own, place, by_lane): let a new task wait for what it says: for other tasks, for its time, or in line.
-- NEEDS await_others join_gathering delay_until line_up await_deadline
local function place_task(conf, id, own, place, by_lane)
  if own.parent and conf.chains then join_gathering(conf, id, own.parent) end
  if own.after or own.gather then return await_others(conf, id, own, place) end
  local due_ms = math.max(conf.now + (own.delay_ms or 0), own.run_after_ms or 0)
  if due_ms > conf.now then
    delay_until(conf, due_ms, id, own.lane or 'any')
  else
    line_up(by_lane, own.lane or 'any', (own.priority or 5) * BAND + place, id)
  end
  if own.fallback_after_ms or own.expires_at_ms then await_deadline(conf, id, due_ms) end
end
