-- grant(conf, rid, request, status, deadline_ms): make it a holder. A lock that its owner did not hold before gets a
-- fence above all that were given out before.
local function grant(conf, rid, request, status, deadline_ms)
  local fence = next_fence(conf)
  for _, part in ipairs(request.parts) do
    part.leans = ''
    if part.fence == '0' then part.fence = fence end
    if permits_of(part.code) then use_permits(conf, part, 1) end
  end
  request.state, request.order, request.until_ms = status, '-', 0
  request.granted_ms, request.deadline_ms = conf.now, deadline_ms
  link_request(conf, rid, request)
  write_request(conf, rid, request)
  set_deadline(conf, rid, deadline_ms)
end
