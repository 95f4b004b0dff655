-- move_due(conf, set, tally): see to what is due in a set, at most 100 of it.
-- NEEDS delayed leases deadlines ends limit_lines promote_due reap_expired expire_waiting pass_on open_due_lines
local function move_due(conf, set, tally)
  local moves = {
    [leases] = reap_expired, [deadlines] = expire_waiting, [delayed] = promote_due, [ends] = pass_on,
    [limit_lines] = open_due_lines,
  }
  moves[set](conf, 100, tally)
end
