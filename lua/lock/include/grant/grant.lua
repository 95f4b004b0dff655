-- grant(ctx, rid, request, status, deadline_ms): make it a holder. A lock that its owner did not hold before gets a
-- fence above all that were given out before.
local function grant(ctx, rid, request, status, deadline_ms)
  local fence = next_fence(ctx)
  for _, part in ipairs(request.parts) do
    part.depends_on = ''
    if part.fence == '0' then part.fence = fence end
    if permits_of(part.code) then use_permits(ctx, part, 1) end
  end
  request.state, request.order, request.until_ms = status, '-', 0
  request.granted_ms, request.deadline_ms = ctx.now, deadline_ms
  link_request(ctx, rid, request)
  write_request(ctx, rid, request)
  set_deadline(ctx, rid, deadline_ms)
end
