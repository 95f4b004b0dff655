-- read_lease(value): the parts of an entry of `running`, or nil if there is none. The entry is two halves with a bar
-- between: '<token> <score> <lane>[ ties][ limits=<keys>][ trace=<trace>][ cancel]', and what the record keeps once the lease has ended, `ran`:
-- '<started_ms> <attempt> <delivery> <crashes> <fence> <worker>'.
local function read_lease(value)
  if not value then return nil end
  local token, score, lane, flagged = string.match(value, '^(%S+) (%d+) ([^ |]+)()')
  local bar = string.find(value, '|', flagged, true)  -- plain searches: the flags may have 5 KB
  local flags, ran = string.sub(value, flagged, bar - 1), string.sub(value, bar + 1)
  local traced = string.find(flags, ' trace=', 1, true)
  local started_ms, attempt, delivery, crashes, fence, worker =
    string.match(ran, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%S+)$')
  return {
    token = token, score = score, lane = lane, tied = string.find(flags, ' ties', 1, true),
    cancelling = string.find(flags, ' cancel', 1, true), ran = ran, started_ms = tonumber(started_ms),
    attempt = tonumber(attempt), delivery = tonumber(delivery), crashes = tonumber(crashes), fence = tonumber(fence),
    worker = worker, trace = traced and string.match(flags, '^%S+', traced + 7) or nil,
  }
end
