-- fail_tasks(ctx, fails): end attempts that went wrong; fails is a table of lists id, token, retryable,
-- reason, error, jitter_ppm, pairs. One answer each: retried with the due time, dead, cancelled, lease_lost.
local function fail_tasks(ctx, fails)
  local answers, ended, due = {}, {}, {}
  local held = redis.call('HMGET', running, unpack(fails.id))  -- at most 1,000: items
  local all = read_policy(config)
  for i, id in ipairs(fails.id) do
    local token, lease, reason, extra = fails.token[i], read_lease(held[i]), fails.reason[i], fails.pairs[i]
    if not lease or lease.token ~= token or ended[id] then
      answers[i] = settled_before(id, token, { retried = true, dead = true, cancelled = true })
    else
      ended[#ended + 1], ended[id], ctx.trace = id, true, lease.trace
      local own = read_policy(task .. id)
      if lease.cancelling then
        answers[i] = { 'cancelled' }
        cancel_task(ctx, id, lease.tied)
      elseif fails.retryable[i] and lease.attempt < tonumber(own[1] or all[1] or DEFAULT_max_attempts) then
        local due_ms = ctx.now + (extra.delay_ms or backoff(own, all, lease.attempt, fails.jitter_ppm[i]))
        answers[i] = { 'retried', due_ms }
        delay_until(ctx, due_ms, id, lease.lane)
        emit(ctx, 'task.retried', id, string.format('attempt=%d due_ms=%.0f', lease.attempt, due_ms))
        add_count(ctx, 'retried', 1)
        if extra.timeout_ms then redis.call('HSET', task .. id, 'timeout_ms', extra.timeout_ms, 'ties', '1') end
      else
        answers[i] = { 'dead' }
        local shown = describe_death(ctx, lease.attempt, fails.error[i], extra.sealed or own[7] == 'restricted')
        move_to_dead(ctx, 'task.dead', id, reason, lease.tied, fails.error[i], shown)
      end
      note_run(ctx, id, lease.ran, lease.cancelling and 'cancelled' or 'failed', reason, error_end(fails.error[i], extra.sealed))
      redis.call('HSET', task .. id, 'ran', lease.ran, 'attempts', lease.attempt, 'deliveries', lease.delivery,
        'reason', reason, 'error', fails.error[i], 'settled', settled_as(token, answers[i]),
        extra.run_trace and 'run_trace' or 'reason', extra.run_trace or reason)  -- without one, the reason again
      if extra.exit_code then
        redis.call('HSET', task .. id, 'exit_code', extra.exit_code)
      elseif lease.delivery > 1 then
        redis.call('HDEL', task .. id, 'exit_code')
      end
      if extra.alert then emit(ctx, 'task.alert', id, 'reason=' .. reason) end
      if lease.tied and answers[i][2] then await_deadline(ctx, id, answers[i][2], due) end
    end
  end
  ctx.trace = nil
  if due[1] then redis.call('ZADD', deadlines, unpack(due)) end  -- at most 2,000: two for each item
  end_leases(ctx, ended)
  return answers
end
