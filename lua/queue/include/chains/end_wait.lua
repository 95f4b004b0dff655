-- end_wait(ctx, id, good, one, batch): let a task that waited for others continue (good), or end it. one: its
-- score, the fields that tell_waiting has read (own) and for how many it still waits, if that has changed (awaits). What
-- becomes ready goes into the batch. The caller takes it out of `blocked`.
local function end_wait(ctx, id, good, one, batch)
  local own, score, awaits = one.own, one.score, one.awaits and 'awaits'
  if good then
    local due_ms = math.max(ctx.now + (own[4] or 0), tonumber(own[5] or 0))
    redis.call('HSET', task .. id, 'ready_ms', ctx.now_text, awaits or 'ready_ms', one.awaits or ctx.now_text)
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
    if awaits then redis.call('HSET', task .. id, awaits, one.awaits) end
    cancel_task(ctx, id, own[6])
  else
    redis.call('HSET', task .. id, 'reason', 'after_failed', awaits or 'reason', one.awaits or 'after_failed')
    move_to_dead(ctx, 'task.dead', id, 'after_failed', own[6])
  end
end
