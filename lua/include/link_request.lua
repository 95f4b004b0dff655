-- link_request(rid, request): add its members to the graph.
-- NEEDS graph members_of
local function link_request(rid, request)
  local scored = {}
  for i, member in ipairs(members_of(rid, request)) do
    scored[2 * i - 1], scored[2 * i] = 0, member
  end
  redis.call('ZADD', graph, unpack(scored))  -- at most 130: two for each member of a request
end
