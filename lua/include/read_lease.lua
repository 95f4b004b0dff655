-- read_lease(value): the parts of an entry of `running`, or nil if there is none. The entry is two halves with a bar
-- between: '<token> <score> <lane>[ ties][ limits=<keys>][ trace=<trace>][ cancel]', and what the record keeps once the lease has ended, `ran`:
-- '<started_ms> <attempt> <delivery> <crashes> <fence> <worker>'.
local function read_lease(value)
  if not value then return nil end
  local token, score, lane, flags, ran = string.match(value, '^(%S+) (%d+) ([^ |]+)([^|]*)|(.*)$')
  local started_ms, attempt, delivery, crashes, fence, worker =
    string.match(ran, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%S+)$')
  return {
    token = token, score = score, lane = lane, tied = string.find(flags, ' ties', 1, true),
    cancelling = string.find(flags, ' cancel', 1, true), ran = ran, started_ms = tonumber(started_ms),
    attempt = tonumber(attempt), delivery = tonumber(delivery), crashes = tonumber(crashes), fence = tonumber(fence),
    worker = worker, trace = string.match(flags, ' trace=(%S+)'),
  }
end
