-- break_cycle(ctx, request, search): end the wait that the policy names of those that make a circle. The circle as
-- text, and the rid that was ended; none where it is for the request itself to give way.
local function break_cycle(ctx, request, search)
  local circle, nodes = cycle_of(request, search)
  local victim = choose_victim(ctx, request, nodes)
  if not victim then return circle end
  local other = read_request(record_of(ctx, victim.rid))
  end_deadlock(ctx, victim.rid, other, circle)
  promote_freed(ctx)
  return circle, victim.rid
end
