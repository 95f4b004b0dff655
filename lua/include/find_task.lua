-- find_task(conf, id): the state of a task, the score that it has in its set, and its record as a table; nil if unknown.
-- NEEDS task ready delayed blocked leases finished dead
local function find_task(conf, id)
  local flat, record = redis.call('HGETALL', task .. id), {}
  if #flat == 0 then return nil end
  for f = 1, #flat, 2 do record[flat[f]] = flat[f + 1] end
  local score = redis.call('ZSCORE', ready .. (record.lane or 'any'), id)
  if score then return 'ready', score, record end
  score = redis.call('ZSCORE', leases, id)
  if score then return tonumber(score) > conf.now and 'running' or 'stalled', score, record end
  for state, key in pairs({ delayed = delayed, blocked = blocked, dead = dead, finished = finished }) do
    score = redis.call('ZSCORE', key, id)
    if score then
      if state == 'finished' then state = record.cancelled_ms and 'cancelled' or 'completed' end
      return state, score, record
    end
  end
  return nil
end
