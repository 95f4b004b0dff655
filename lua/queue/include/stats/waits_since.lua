-- waits_since(lane, size): since when (ms) the task has waited that has waited longest, of the next tasks of each priority of a lane
-- with that many tasks; nil if there is none.
local function waits_since(lane, size)
  local oldest_ms, from = nil, 0
  for _ = 1, math.min(size, 10) do
    local first = redis.call('ZRANGE', ready .. lane, from, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
    if not first[1] then break end
    local row = redis.call('HMGET', task .. first[1], 'ready_ms', 'created_ms')
    local since_ms = tonumber(row[1] or row[2] or nil)
    if since_ms and (not oldest_ms or since_ms < oldest_ms) then oldest_ms = since_ms end
    from = (math.floor(first[2] / BAND) + 1) * BAND
  end
  return oldest_ms
end
