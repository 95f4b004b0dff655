-- open_line(conf, key, batch, again): let the first in the line of a limit go back to their lanes, as many as may start now, 100 at
-- most. What becomes ready, who is not blocked any more and the score of the line go into the batch. again: some were let go 5 s ago;
-- if there is room still, workers of their lane are perhaps not there, so that more may go.
-- The score of a line in limit_lines says when it is looked at next: at that time, again; at once, if it is negative, and then the
-- time plus BAND is since when; and from BAND on not before a lease ends, for the limit was full at that time, less BAND.
local function open_line(conf, key, batch, again)
  local limit, room, look_ms = conf.limit[key], MAX_SAFE, conf.now
  if limit then
    room, look_ms = room_left(conf, limit)
    if again and room > 0 and limit.policy == 'queue' and (limit.idle or not limit.interval_ms) then room = 100 end
  end
  local most = math.min(room, 100, conf.steps)
  local first = most > 0 and redis.call('ZRANGE', waiting .. key, 0, most + 9, 'WITHSCORES') or {}
  local passed, full, left = 0, 2 * most + 20, room - most
  while most > 0 and first[passed + 1] do  -- at most 110: tasks of a page
    local id, score = first[passed + 1], first[passed + 2]
    passed = passed + 2
    -- else an older version of these scripts has left it here
    local own = redis.call('ZSCORE', blocked, id) == score and redis.call('HMGET', task .. id, 'lane', 'ties', 'limited_by') or {}
    if own[3] == key then
      most = most - 1
      redis.call('HDEL', task .. id, 'limited_by')
      redis.call('HSET', task .. id, 'ready_ms', conf.now_text)
      line_up(batch.by_lane, own[1] or 'any', score, id)
      if own[2] then await_deadline(conf, id, conf.now) end
      batch.freed[#batch.freed + 1] = id
    end
  end
  conf.steps = conf.steps - 1 - passed / 2
  if passed > 0 then redis.call('ZREMRANGEBYRANK', waiting .. key, 0, passed / 2 - 1) end
  if room > 0 and #first < full and passed == #first or redis.call('EXISTS', waiting .. key) == 0 then
    redis.call('ZREM', limit_lines, key)
  else
    batch.looks[#batch.looks + 1] = left + most > 0 and conf.now + 1 - BAND or look_ms  -- after those that this call leaves
    batch.looks[#batch.looks + 1] = key
  end
end
