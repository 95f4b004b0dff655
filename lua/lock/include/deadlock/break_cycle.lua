-- break_cycle(ctx, request, search): end one wait of a cycle, as the policy says. Returns the cycle as text, and the
-- rid whose wait ended; no rid if the request itself has to give way.
local function break_cycle(ctx, request, search)
  local circle, nodes = cycle_of(request, search)
  local victim = choose_victim(ctx, request, nodes)
  if not victim then return circle end
  local other = read_request(record_of(ctx, victim.rid))
  end_deadlock(ctx, victim.rid, other, circle)
  promote_freed(ctx)
  return circle, victim.rid
end
