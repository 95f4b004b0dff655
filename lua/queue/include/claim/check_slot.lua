-- check_slot(): compare this call with the last call of its slot: 'fresh', with the time of the slot's last
-- housekeeping; 'replay', with the ids that the call got before; 'stale'; or 'unregistered'.
local function check_slot()
  local row = redis.call('HMGET', worker_hash .. worker, 'incarnation', 'slot:' .. slot)
  if not row[1] then return 'unregistered' end
  local last, seen_ms, given = string.match(row[2] or '0 0 ', '^(%d+) (%d+) (.*)$')
  last = tonumber(last)
  if row[1] ~= incarnation or n < last then return 'stale' end
  if n == last then return 'replay', given end
  return 'fresh', tonumber(seen_ms)
end
