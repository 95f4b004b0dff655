-- sweep(conf, tally): reap, expire and promote what is due, pass on what has ended, and open the lines of limits, at most 100
-- of each; the time of the next of them, but for the lines, or 0.
local function sweep(conf, tally)
  if conf.limits then conf.steps = math.max(20, math.min(100, conf.steps - 200)) end  -- less after an ack that has opened lines
  local next_ms = next_due(conf, leases, tally)
  if redis.call('EXISTS', deadlines, delayed) > 0 then
    next_ms = math.min(next_ms, next_due(conf, deadlines, tally), next_due(conf, delayed, tally))
  end
  if conf.chains then next_ms = math.min(next_ms, next_due(conf, ends, tally)) end
  if conf.limits then open_due_lines(conf) end
  return next_ms < MAX_SAFE and next_ms or 0
end
