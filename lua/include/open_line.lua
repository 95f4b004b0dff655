-- open_line(conf, key, batch, again): let the first in the line of a limit go back to their lanes, as many as may start now, 100 at
-- most. What becomes ready goes into the batch. again: the line is looked at after a while; if there is room still, who went
-- before is not taken, by workers of his lane perhaps that are not there, so that more may go. Holders without a lease, as an
-- evicting server leaves them, are forgotten.
-- NEEDS task blocked leases holding waiting limit_lines line_up await_deadline read_limits room_left
local function open_line(conf, key, batch, again)
  local limit, room, look_ms, passed = read_limits(conf, { key })[1], 100, conf.now, 0
  for _, id in ipairs(again and redis.call('ZRANGE', holding .. key, 0, 9) or {}) do
    if not redis.call('ZSCORE', leases, id) then redis.call('ZREM', holding .. key, id) end
  end
  if limit then
    if again then limit.held = nil end
    room, look_ms = room_left(conf, limit)
    local more = again and room > 0 and limit.policy == 'queue' and (limit.idle or not limit.interval_ms)
    room = more and 100 or math.min(room, 100)
  end
  local first = room > 0 and redis.call('ZRANGE', waiting .. key, 0, 99, 'WITHSCORES') or {}
  while room > 0 and first[passed + 1] do  -- at most 100: tasks of a page
    local id, score = first[passed + 1], first[passed + 2]
    passed = passed + 2
    if redis.call('ZSCORE', blocked, id) == score then  -- else it was cancelled, and may be another by now
      room = room - 1
      redis.call('ZREM', blocked, id)
      local own = redis.call('HMGET', task .. id, 'lane', 'ties')
      redis.call('HDEL', task .. id, 'limited_by')
      redis.call('HSET', task .. id, 'ready_ms', conf.now_text)
      line_up(batch.by_lane, own[1] or 'any', score, id)
      if own[2] then await_deadline(conf, id, conf.now) end
      batch.freed[#batch.freed + 1] = id
    end
  end
  if passed > 0 then redis.call('ZREMRANGEBYRANK', waiting .. key, 0, passed / 2 - 1) end
  if redis.call('EXISTS', waiting .. key) == 0 then
    redis.call('ZREM', limit_lines, key)
  else
    redis.call('ZADD', limit_lines, passed == 200 and conf.now or look_ms, key)
  end
end
