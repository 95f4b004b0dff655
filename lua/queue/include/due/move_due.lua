-- move_due(ctx, set): see to what is due in a set, at most 100 of it, and as much as ctx.work allows: a few in
-- any case, so that each set has its turn.
local function move_due(ctx, set)
  local moves = {
    [leases] = reap_expired, [deadlines] = expire_waiting, [delayed] = promote_due, [ends] = propagate_ends,
  }
  ctx.work = math.max(ctx.work, 50)
  local moved = moves[set](ctx, 100)
  if set == ends then ctx.told = moved end
end
