-- promote_freed(conf): give their turn to those in line for what this call has freed; first end the waits of owners
-- that have lost what they rest on. What is too much for one call is left to the next.
-- LATE
local function promote_freed(conf)
  local left, at = conf.grants or 64, 1
  conf.tried, conf.looks = {}, conf.looks or 1300
  for owner in pairs(conf.waiting > 0 and conf.losers or {}) do
    local rid = waits_as(owner)
    local request = rid and live_request(conf, rid)
    if request and lacks_support(request) then
      end_request(conf, rid, request, 'lost', 'lock.cancelled', ' reason=lost')
    end
  end
  -- at most 5,000: 32 for each of 64 grants, and what the call itself has freed
  while conf.freed and conf.freed[at] and conf.waiting > 0 do
    local freed = conf.freed[at]
    conf.noted[freed.resource] = nil
    local from = freed.from
    if left > 0 and conf.looks > 0 then left, from = promote(conf, freed, left) end
    if from then set_deadline(conf, 'promote ' .. freed.resource .. string.gsub(from, '^.', ' %0'), conf.now) end
    at = at + 1
  end
  conf.freed, conf.noted, conf.losers, conf.grants = nil, nil, nil, left
end
