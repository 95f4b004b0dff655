-- rule_text(given, label): the text of a rule without its version, nil to remove it; or nil and an error, if its fields do not fit together.
local function rule_text(given, label)
  local algorithm, limit, period_ms, burst = given.algorithm or 'gcra', given.limit, given.period_ms, given.burst
  if given.remove then
    if #given > 2 then return nil, refuse(label .. 'remove', 1, 'given alone') end
    return nil
  end
  if not limit then return nil, refuse(label .. 'limit', nil, 'an integer from 1 to 1000000; it has no default') end
  if algorithm == 'concurrency' then
    if period_ms then return nil, refuse(label .. 'period_ms', period_ms, 'left out: a rule of concurrency has no period') end
  elseif not period_ms then
    return nil, refuse(label .. 'period_ms', nil, 'given, but for a rule of concurrency')
  elseif given.lease_ms then
    return nil, refuse(label .. 'lease_ms', given.lease_ms, 'left out: only rules of concurrency have leases')
  end
  local pace = 0
  if algorithm == 'concurrency' then
    pace = given.lease_ms or WAIT_lease_ms
  elseif algorithm == 'log' then
    if limit > 5000 then return nil, refuse(label .. 'limit', limit, 'at most 5000 for a log; for more use gcra') end
  else
    burst, pace = burst or limit, math.ceil(period_ms * 1000 / limit)
    if limit > 100 * period_ms then return nil, refuse(label .. 'limit', limit, 'at most 100 for each ms of the period') end
    if burst * pace > 2678400000000 then
      return nil, refuse(label .. 'burst', burst, 'so small that burst * period_ms / limit is at most 2678400000 ms, 31 days')
    end
  end
  if algorithm ~= 'gcra' and burst then return nil, refuse(label .. 'burst', burst, 'left out: only rules of gcra have a burst') end
  return string.format('%s %.0f %.0f %.0f %.0f %s %s', algorithm, pace, burst or 0, limit, period_ms or 0, given.on_error or 'closed',
    given.shadow and 'shadow' or 'enforced')
end
