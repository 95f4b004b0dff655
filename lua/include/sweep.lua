-- sweep(conf, tally): reap, expire and promote what is due, pass on what has ended, and open the lines of limits, at most 100
-- of each; the time of the next of them, or 0.
-- NEEDS delayed leases deadlines ends limit_lines promote_due reap_expired expire_waiting pass_on open_due_lines
local function sweep(conf, tally)
  local next_ms = MAX_SAFE
  local function sweep_set(set, move)
    local head = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
    if head[1] and tonumber(head[2]) <= conf.now then
      move(conf, 100, tally)
      head = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
    end
    if head[1] then next_ms = math.min(next_ms, tonumber(head[2])) end
  end
  sweep_set(leases, reap_expired)
  if redis.call('EXISTS', deadlines, delayed) > 0 then
    sweep_set(deadlines, expire_waiting)
    sweep_set(delayed, promote_due)
  end
  if conf.chains then sweep_set(ends, pass_on) end
  if conf.limits then sweep_set(limit_lines, open_due_lines) end
  return next_ms < MAX_SAFE and next_ms or 0
end
