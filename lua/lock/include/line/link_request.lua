-- link_request(ctx, rid, request): add its members to the graph. What was read of its lines (line_of) is to be read
-- again, but for one more who shares a lock that is shared or free: that keeps nobody away who would share it, too.
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
