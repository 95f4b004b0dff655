-- sweep(conf, tally): reap and promote what is due, at most 100 of each; the time of the next of either, or 0.
-- NEEDS delayed leases promote_due reap_expired
local function sweep(conf, tally)
  local function sweep_set(set, move)
    local head = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
    if head[1] and tonumber(head[2]) <= conf.now then
      move(conf, 100, tally)
      head = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
    end
    return tonumber(head[2] or 0)
  end
  local deadline_ms = sweep_set(leases, reap_expired)
  local due_ms = sweep_set(delayed, promote_due)
  if deadline_ms == 0 or due_ms == 0 then return deadline_ms + due_ms end
  return math.min(deadline_ms, due_ms)
end
