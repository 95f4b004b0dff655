-- repair_task(ctx, id): put a damaged task into one set: that of its end, else that of its lease, else where it waits.
-- A lease has ended if the record knows its settlement, unless the lease is complete: then the settlement failed
-- half-way and will be sent again. Any other lease continues, with a new deadline if it had none. Returns the state, or
-- `gone`.
local function repair_task(ctx, id)
  local record, held = read_record(id), redis.call('HGET', running, id)
  if not record or not record.created_ms then
    drop_lease(ctx, id, held)
    redis.call('DEL', ended_runs .. id, steps .. id)
    return 'gone'
  end
  local lane, lease = record.lane or 'any', read_lease(held)
  local settled = lease and string.match(record.settled or '', '^%S+') == lease.token
  local states = { [finished] = record.cancelled_ms and 'cancelled' or 'completed', [dead] = 'dead', [ready .. lane] = 'ready',
    [delayed] = 'delayed', [blocked] = 'blocked' }
  local keep, due = nil, redis.call('ZSCORE', leases, id)
  for _, set in ipairs({ finished, dead, ready .. lane, delayed, blocked }) do
    if redis.call('ZSCORE', set, id) then
      local goes_on = lease and not settled and set ~= finished and set ~= dead
      if keep or goes_on then redis.call('ZREM', set, id) else keep = set end
    end
  end
  local state = keep and states[keep]
  local score = keep == blocked and redis.call('ZSCORE', blocked, id)
  if keep then
    drop_lease(ctx, id, held)
    if keep == finished or keep == dead then
      end_ties(ctx, id, record, keep == dead and 'dead' or record.cancelled_ms and 'cancelled' or ended_how(record) or 'completed')
    end
  elseif lease and (due or not settled) then
    redis.call('ZADD', leases, 'NX', string.format('%.0f', ctx.now + ctx.settings.lease_ms), id)
    redis.call('ZREM', deadlines, id)
    for _, key in ipairs(held_limits(held)) do
      redis.call('ZADD', holding .. key, lease.fence, id)
    end
    state = 'running'
  else
    drop_lease(ctx, id, held)
    state = restore_task(ctx, id, record, lease and tonumber(lease.score))
  end
  if redis.call('EXISTS', ready .. lane) == 0 then lane_emptied(ctx, lane) end  -- last: restore_wait may have made shares
  if record.limited_by and not score then
    leave_line(id, record.limited_by)
  elseif record.limited_by then
    redis.call('ZADD', waiting .. record.limited_by, score, id)
    redis.call('ZADD', limit_lines, 'LT', ctx.now_text, record.limited_by)
  end
  emit(ctx, 'task.repaired', id, 'state=' .. state)
  add_count(ctx, 'repaired', 1)
  return state
end
