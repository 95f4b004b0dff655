-- drain_limit_queue(ctx, key, line, batch): let the first tasks in the queue of a limit return to their lanes: as many
-- as may start now, at most 100. line: what peek_lines read. The results go into the batch: tasks that become ready,
-- tasks that are no longer blocked, the queue's next score, and queues that end. The score of a queue in limit_lines: a
-- time at which to look again; negative: at once, and score + BAND is since when; from BAND on: wait for the end of a
-- lease, because the limit was full at score - BAND.
local function drain_limit_queue(ctx, key, line, batch)
  local first, most = line.first, math.min(line.room, 100, ctx.steps)
  local passed, left = 0, line.room - most
  while most > 0 and first[passed + 1] do  -- at most 110: as many as may start, and 10
    local id, score = first[passed + 1], first[passed + 2]
    passed = passed + 2
    -- else an older version of these scripts has left it here
    local own = line.scores[id] == score and redis.call('HMGET', task .. id, 'limited_by', 'lane', 'ties') or {}
    if own[1] == key then
      most = most - 1
      redis.call('HDEL', task .. id, 'limited_by')
      redis.call('HSET', task .. id, 'ready_ms', ctx.now_text)
      line_up(batch.by_lane, own[2] or 'any', score, id)
      if own[3] then await_deadline(ctx, id, ctx.now, batch.due) end
      batch.freed[#batch.freed + 1] = id
    end
  end
  ctx.steps = ctx.steps - 1 - passed / 2
  local emptied = line.room > 0 and line.whole and passed == #first
  if emptied and passed > 0 then
    batch.emptied[#batch.emptied + 1] = waiting .. key
  elseif passed > 0 then
    redis.call('ZREMRANGEBYRANK', waiting .. key, 0, passed / 2 - 1)
  end
  if emptied or (passed == #first and redis.call('EXISTS', waiting .. key) == 0) then
    batch.ended[#batch.ended + 1] = key
  else
    local look_ms = line.recheck_at_ms
    if line.paced then look_ms = ctx.now + 25 * passed  -- 100 in 5 s, however few a call may let go
    elseif left + most > 0 then look_ms = ctx.now + 1 - BAND end  -- +1: behind queues that this call did not reach
    batch.looks[#batch.looks + 1] = look_ms
    batch.looks[#batch.looks + 1] = key
  end
end
