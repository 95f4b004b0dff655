-- move_due(conf, set, tally): see to what is due in a set, at most 100 of it.
-- NEEDS delayed leases deadlines ends promote_due reap_expired expire_waiting pass_on
local function move_due(conf, set, tally)
  local moves = {
    [leases] = reap_expired, [deadlines] = expire_waiting, [delayed] = promote_due, [ends] = pass_on,
  }
  moves[set](conf, 100, tally)
end
