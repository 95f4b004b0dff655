-- plain_due(row, now, runs): when something is due next, or MAX_SAFE; nil if something is due now or ends are noted. Also
-- the first time in deadlines and delayed, or false if there are none; and whether leases of runs, which end now, have
-- kept it from seeing the next lease: it reads at most four of them, and the others end no sooner than these.
local function plain_due(row, now, runs)
  local most = runs and math.min(#runs, 4) or 0
  local heads, at = redis.call('ZRANGE', leases, '0', most, 'WITHSCORES'), 1
  while runs and runs[heads[at]] do at = at + 2 end  -- at most 5: see above
  local unread = #heads > 2 * most and not heads[at]
  local next_ms = tonumber(heads[unread and at - 1 or at + 1] or MAX_SAFE)
  local timed_ms = redis.call('EXISTS', deadlines, delayed) > 0 and MAX_SAFE
  if timed_ms then
    heads = redis.call('ZRANGE', deadlines, '0', '0', 'WITHSCORES')
    timed_ms = math.min(timed_ms, heads[2] or MAX_SAFE)
    heads = redis.call('ZRANGE', delayed, '0', '0', 'WITHSCORES')
    timed_ms = math.min(timed_ms, heads[2] or MAX_SAFE)
    next_ms = math.min(next_ms, timed_ms)
  end
  if next_ms <= now or (row.settings.chains == '1' and redis.call('EXISTS', ends) == 1) then return nil end
  return next_ms, timed_ms, unread
end
