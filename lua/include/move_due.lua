-- move_due(conf, set, tally): see to what is due in a set, at most 100 of it, and as much as conf.work allows: a few in
-- any case, so that each set has its turn.
local function move_due(conf, set, tally)
  local moves = {
    [leases] = reap_expired, [deadlines] = expire_waiting, [delayed] = promote_due, [ends] = pass_on,
  }
  conf.work = math.max(conf.work, 50)
  local moved = moves[set](conf, 100, tally)
  if set == ends then conf.told = moved end
end
