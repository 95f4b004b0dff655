-- move_due(ctx, set): process due entries of a set: at most 100, limited by ctx.work, but always a few, so that no set
-- starves.
local function move_due(ctx, set)
  local moves = { [leases] = reap_expired, [deadlines] = expire_waiting, [delayed] = promote_due }
  ctx.work = math.max(ctx.work, 50)
  moves[set](ctx, 100)
end
