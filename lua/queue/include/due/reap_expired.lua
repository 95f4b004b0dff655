-- reap_expired(ctx, limit): take back leases past their deadline, by deadline and then by place among the first 1,000,
-- as many as ctx.work allows. After its first crash a task returns to its old place. After the n-th it waits for the
-- backoff of n-1. max_crashes of them end it.
local function reap_expired(ctx, limit)
  local ids = redis.call('ZRANGE', leases, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, limit + 1)
  if #ids == 0 then return 0 end
  local held, by_lane, due, latest_ms, count = redis.call('HMGET', running, unpack(ids)), {}, {}, 0, 0  -- at most 1,001: one more than the limit
  local holds = 0  -- on_unlease subtracts its part of them
  while count < math.min(limit, #ids) and ctx.work > 3 * holds do  -- at most 1,000: limit
    count = count + 1
    holds = holds + math.max(0, #held_limits(held[count]) - 1)
    ctx.work = ctx.work - 3 - (string.find(held[count] or '', ' ties', 1, true) and 12 or 0)
  end
  if count < #ids then
    ids = first_leases(ctx, count)
    held = redis.call('HMGET', running, unpack(ids))  -- at most 1,000: limit
  end
  local all = read_policy(config)
  end_leases(ctx, ids)
  add_count(ctx, 'stalled', #ids)
  for i, id in ipairs(ids) do
    local lease = read_lease(held[i])
    ctx.trace = lease and lease.trace
    if redis.call('HEXISTS', task .. id, 'created_ms') == 0 then
      drop_task(ctx, id)
    elseif not lease then
      redis.call('HSET', task .. id, 'reason', 'damaged')
      move_to_dead(ctx, 'task.dead', id, 'damaged', true)
    else
      local crashes, reason, back_ms = lease.crashes + 1, nil, nil
      emit(ctx, 'task.stalled', id, 'crashes=' .. crashes .. ' worker=' .. lease.worker)
      if lease.cancelling then
        cancel_task(ctx, id, lease.tied)
      elseif crashes >= tonumber(all[6] or DEFAULT_max_crashes) then
        reason = 'crash_loop'
        redis.call('HDEL', task .. id, 'error', 'exit_code')  -- of another attempt
        move_to_dead(ctx, 'task.dead', id, reason, lease.tied, nil, ' attempts=' .. lease.attempt - 1)
      elseif crashes == 1 then
        back_ms = ctx.now
        line_up(by_lane, lease.lane, lease.score, id)
      else
        back_ms = ctx.now + backoff(read_policy(task .. id), all, crashes - 1, 500000)
        delay_until(ctx, back_ms, id, lease.lane)
        redis.call('HSET', task .. id, 'stood', string.format('%.0f ', back_ms) .. lease.score)
        latest_ms = math.max(latest_ms, back_ms)
      end
      note_run(ctx, id, lease.ran, 'stalled', reason or '', '')
      redis.call('HSET', task .. id, 'ran', lease.ran, 'crashes', crashes, 'deliveries', lease.delivery,
        reason and 'reason' or 'ready_ms', reason or ctx.now_text)
      if lease.tied and back_ms then await_deadline(ctx, id, back_ms, due) end
    end
  end
  ctx.trace = nil
  if due[1] then redis.call('ZADD', deadlines, unpack(due)) end  -- at most 2,000: two for each lease
  make_ready(ctx, by_lane)
  if latest_ms > tonumber(latest_ms > 0 and redis.call('HGET', config, 'crashed_due_ms') or 0) then
    redis.call('HSET', config, 'crashed_due_ms', string.format('%.0f', latest_ms))
  end
  return #ids
end
