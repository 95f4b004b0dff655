-- tell_waiting(ctx, id, place, how, batch): report to a waiting task that a task it waits for has ended. It continues
-- or ends at once if this end decides, and otherwise when the last one has ended (it may wait for all of them, or for
-- any). What becomes ready goes into the batch. A task that is not blocked at this place no longer waits, or is another
-- task with that id.
local function tell_waiting(ctx, id, place, how, batch)
  local score = redis.call('ZSCORE', blocked, id)
  if not score or score % BAND ~= tonumber(place) then return end
  local own = redis.call('HMGET', task .. id, 'after_when', 'after_any', 'lane', 'delay_ms', 'run_after_ms', 'ties', 'user', 'limited_by')
  if own[8] then return end  -- it no longer waits for tasks, only for a limit
  local good = own[1] == 'ended' or (how == 'c') == (own[1] ~= 'failed')
  local decisive = good == (own[2] == '1')
  if not decisive and redis.call('HINCRBY', task .. id, 'awaits', -1) > 0 then return end
  redis.call('ZREM', blocked, id)
  if good then
    local due_ms = math.max(ctx.now + (own[4] or 0), tonumber(own[5] or 0))
    redis.call('HSET', task .. id, 'ready_ms', ctx.now_text)
    if due_ms > ctx.now then
      delay_until(ctx, due_ms, id, own[3] or 'any')
    else
      local band = math.floor(score / BAND)
      if ctx.settings.fair > 0 then score = band * BAND + share_place(ctx, own[3] or 'any', own[7] or '', band) end
      line_up(batch.by_lane, own[3] or 'any', score, id)
    end
    if own[6] then await_deadline(ctx, id, due_ms) end
    batch.freed[#batch.freed + 1] = id
  elseif own[1] == 'failed' then
    cancel_task(ctx, id, own[6])
  else
    redis.call('HSET', task .. id, 'reason', 'after_failed')
    move_to_dead(ctx, 'task.dead', id, 'after_failed', own[6])
  end
end
