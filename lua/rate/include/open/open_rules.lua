-- open_rules(names): what a call begins with that needs these rules: the time (µs), and the rules as they are stored; or nil and the error
-- to return.
-- EARLY
local function open_rules(names)
  local row, now = redis.call('HMGET', config, 'layout_min', 'clock')
  if now_ms == 0 and row[2] == 'server' and (row[1] or LAYOUT) + 0 <= LAYOUT then
    local time = redis.call('TIME')
    now = time[1] * 1000000 + time[2]
  else
    local ms, refused = read_clock(row[1], row[2])
    if not ms then return nil, refused end
    now = ms * 1000
  end
  return now, redis.call('HMGET', rules, unpack(names))  -- at most 100: items of a call
end
