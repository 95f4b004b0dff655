-- move_due(ctx, set): process due entries of a set: at most 100, limited by ctx.work, but always a few, so that no set
-- starves.
local function move_due(ctx, set)
  local moves = {
    [leases] = reap_expired, [deadlines] = expire_waiting, [delayed] = promote_due, [ends] = propagate_ends,
  }
  ctx.work = math.max(ctx.work, 50)
  local moved = moves[set](ctx, 100)
  if set == ends then ctx.told = moved end
end
