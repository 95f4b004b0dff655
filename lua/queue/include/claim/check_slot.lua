-- check_slot(ctx, row): compare this call with the last call of its slot: 'fresh', with the time of the slot's last
-- housekeeping; 'replay', with the ids that the call got before; 'stale'; or 'unregistered'. The token of a request
-- that the worker has not heard may be lost: it is left again, so an idle worker need not ask. Once a second, when the slot's
-- housekeeping is due: the token ends the worker's wait, and it would claim in a circle until its heartbeat is through.
-- row: what it reads, if the caller has read it.
local function check_slot(ctx, row)
  row = row or redis.call('HMGET', worker_hash .. worker, 'incarnation', 'slot:' .. slot, 'heard')
  if not row[1] then return 'unregistered' end
  local last, seen_ms, given = string.match(row[2] or '0 0 ', '^(%d+) (%d+) (.*)$')
  last = tonumber(last)
  if row[1] ~= incarnation or n < last then return 'stale' end
  if row[3] == '0' and math.abs(ctx.now - seen_ms) >= 1000 then push_control(ctx, worker) end
  if n == last then return 'replay', given end
  return 'fresh', tonumber(seen_ms)
end
