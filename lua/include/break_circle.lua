-- break_circle(conf, request, search): end the wait that the policy names of those that make a circle. The circle as
-- text, and the rid that was ended; none where it is for the request itself to give way.
local function break_circle(conf, request, search)
  local circle, nodes = circle_of(request, search)
  local victim = choose_victim(conf, request, nodes)
  if not victim then return circle end
  local other = read_request(record_of(conf, victim.rid))
  end_deadlock(conf, victim.rid, other, circle)
  promote_freed(conf)
  return circle, victim.rid
end
