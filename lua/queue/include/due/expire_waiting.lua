-- expire_waiting(ctx, limit): handle waiting tasks whose deadline has come, at most limit and as many as ctx.work
-- allows. A task that expires goes to the dead set. A task that no worker has taken goes to its next lane, at its old
-- place, or from its last lane to the dead set, but not while the queue is paused. Returns how many. If a task does not
-- wait any more, only its deadline is removed: an older version left it.
local function expire_waiting(ctx, limit)
  local ids, by_lane = redis.call('ZRANGE', deadlines, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, limit), {}
  if #ids == 0 then return 0 end
  local records = {}
  for i = 1, #ids do
    if ctx.work <= 0 then
      ids[i] = nil
    else
      records[i] = read_record(ids[i]) or false
      local own = records[i] or {}
      ctx.work = ctx.work - 8 - ((own.unique or own.scope or own.reply or own.awaited) and 12 or 0)
    end
  end
  redis.call('ZREM', deadlines, unpack(ids))  -- at most 1,000: limit
  for i, id in ipairs(ids) do
    local record = records[i]
    local set, score = find_set(id, record)
    if not record then
      drop_task(ctx, id)
    elseif set and set ~= leases and set ~= finished and set ~= dead then
      local lane = record.lane or 'any'
      local in_line = set == ready .. lane
      local expired = not record.deliveries and tonumber(record.expires_at_ms or MAX_SAFE) <= ctx.now
      local last = record.unclaimed == 'fail' and not record.fallback and ctx.settings.mode ~= 'paused'
      local reason = expired and 'expired' or last and 'nobody_came'
      if reason or (in_line and record.fallback) then
        redis.call('ZREM', set, id)
        if in_line and redis.call('EXISTS', set) == 0 then lane_emptied(ctx, lane) end
      end
      if reason then
        if record.limited_by then leave_line(id, record.limited_by) end
        redis.call('HSET', task .. id, 'reason', reason)
        if record.error then redis.call('HDEL', task .. id, 'error', 'exit_code') end
        move_to_dead(ctx, expired and 'task.expired' or 'task.dead', id, reason, true)
      else
        local to = record.fallback and next_lane(ctx, id, record)
        if to and in_line then
          local band = math.floor(score / BAND)
          if ctx.settings.fair > 0 then score = band * BAND + share_place(ctx, to, record.user or '', band) end
          line_up(by_lane, to, score, id)
        end
        await_deadline(ctx, id, ctx.settings.mode == 'paused' and ctx.now + 1000 or ctx.now)  -- in a pause, look again after 1 s
      end
    end
  end
  make_ready(ctx, by_lane)
  return #ids
end
