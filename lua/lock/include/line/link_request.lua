-- link_request(ctx, rid, request): add the members of a request to the graph. Its lines (line_of) are to be read again,
-- unless it only shares a lock that is shared or free, which keeps no other sharer away.
local function link_request(ctx, rid, request)
  for _, part in ipairs(ctx.lines and request.parts or {}) do
    local line = ctx.lines[part.resource]
    if line and (line.code == 's' or line.code == false) and part.code == 's' and request.order == '-' then
      line.code, line.by, line.holds, line.first = 's', request.owner, nil, nil
    else
      ctx.lines[part.resource] = nil
    end
  end
  local scored = {}
  for i, member in ipairs(members_of(rid, request)) do
    scored[2 * i - 1], scored[2 * i] = 0, member
  end
  redis.call('ZADD', graph, unpack(scored))  -- at most 130: two for each member of a request
end
