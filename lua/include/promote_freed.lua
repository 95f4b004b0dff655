-- promote_freed(conf): give their turn to those in line for what this call has freed; first end the waits of owners
-- that have lost what they rest on. What is too much for one call is left to the next.
-- NEEDS set_deadline waits_as live_request lacks_support end_request promote
local function promote_freed(conf)
  local left, at, seen = conf.grants or 64, 1, {}
  conf.tried, conf.looks = {}, conf.looks or 2500 -- at least 64 waiters with 32 locks each
  for owner in pairs(conf.waiting > 0 and conf.losers or {}) do
    local rid = waits_as(owner)
    local request = rid and live_request(conf, rid)
    if request and lacks_support(request) then
      end_request(conf, rid, request, 'lost', 'lock.cancelled', ' reason=lost')
    end
  end
  while conf.freed and conf.freed[at] and conf.waiting > 0 do  -- at most 100,000: resources that one call frees
    local resource = conf.freed[at]
    if left > 0 and conf.looks > 0 and seen[resource] ~= left then
      left = promote(conf, resource, left)
      seen[resource] = left
    end
    if left == 0 or conf.looks <= 0 then set_deadline(conf, 'promote ' .. resource, conf.now) end
    at = at + 1
  end
  conf.freed, conf.losers, conf.grants = nil, nil, left
end
