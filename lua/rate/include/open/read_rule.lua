-- read_rule(stored): the algorithm, pace, burst, limit, period_ms, on_error, mode and version of a rule, as texts; nil: there is no such
-- rule.
-- EARLY
local function read_rule(stored)
  return string.match(stored or '', '^(%l+) (%d+) (%d+) (%d+) (%d+) (%l+) (%l+) (%d+)$')
end
