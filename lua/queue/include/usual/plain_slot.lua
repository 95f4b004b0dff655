-- plain_slot(row): whether a call that claims is the next one of its slot, with no housekeeping, in a queue
-- that runs with events, and without limits, fair shares and a default timeout. Returns the time as a number and as text,
-- or nil; and what check_slot reads, if this has been read.
local function plain_slot(row)
  if not row[1] or row.settings.events_max == '0' or (row.settings.mode or 'running') ~= 'running'
    or (row.settings.limits or '0') ~= '0' or (row.settings.fair or '0') ~= '0' or (row.settings.fair_top or '0') ~= '0'
    or (row.settings.timeout_ms or '0') ~= '0' then
    return nil
  end
  local known = redis.call('HMGET', worker_hash .. worker, 'incarnation', string.format('slot:%d', slot), 'heard')
  local last, seen_ms = string.match(known[2] or '0 0 ', '^(%d+) (%d+) ')
  if known[1] ~= incarnation or n <= last + 0 then return nil, nil, known end
  local now, now_text = read_clock(row[1], row[2])
  if not now or math.abs(now - seen_ms) >= 1000 then return nil, nil, known end
  return now, now_text, known, seen_ms
end
