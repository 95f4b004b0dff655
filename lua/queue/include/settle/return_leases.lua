-- return_leases(ctx, ids, tokens, delays, waits): return leased tasks without counting an attempt: each to its old place
-- or, with delays, to wait for that many ms. waits: for what, if their runs were suspended: that is no end of a run. A lease
-- past its deadline is lost. One answer each: released with the place, snoozed or suspended with the due time, cancelled,
-- lease_lost.
local function return_leases(ctx, ids, tokens, delays, waits)
  -- at most 1,000: items
  local held = redis.call('HMGET', running, unpack(ids))
  local deadline_ms = redis.call('ZMSCORE', leases, unpack(ids))
  local answers, ended, by_lane, due = {}, {}, {}, {}
  local verb = waits and 'suspended' or delays and 'snoozed' or 'released'
  for i, id in ipairs(ids) do
    local lease = read_lease(held[i])
    local lost = not lease or lease.token ~= tokens[i] or tonumber(deadline_ms[i] or 0) <= ctx.now
    if lost or ended[id] then
      answers[i] = settled_before(id, tokens[i], { [verb] = true, cancelled = true })
    else
      local back_ms = delays and ctx.now + delays[i] or ctx.now
      ended[#ended + 1], ended[id], ctx.trace = id, true, lease.trace
      answers[i] = lease.cancelling and { 'cancelled' } or { verb, delays and back_ms or lease.score % BAND }
      if not waits or lease.cancelling then note_run(ctx, id, lease.ran, answers[i][1], '', '') end
      local more = waits and not lease.cancelling and wait_fields(waits[i], lease.delivery) or {}
      redis.call('HSET', task .. id, 'ran', lease.ran, 'deliveries', lease.delivery, 'ready_ms', ctx.now_text,
        'settled', settled_as(lease.token, answers[i]), unpack(more))  -- at most 4: fields of a wait
      if lease.cancelling then
        cancel_task(ctx, id, lease.tied)
      else
        if delays then
          delay_until(ctx, back_ms, id, lease.lane)
          emit(ctx, waits and 'task.suspended' or 'task.snoozed', id, string.format('due_ms=%.0f', back_ms))
        else
          line_up(by_lane, lease.lane, lease.score, id)
          emit(ctx, 'task.released', id, '')
        end
        if lease.tied then await_deadline(ctx, id, back_ms, due) end
        add_count(ctx, verb, 1)
      end
    end
  end
  ctx.trace = nil
  if due[1] then redis.call('ZADD', deadlines, unpack(due)) end  -- at most 2,000: two for each item
  end_leases(ctx, ended)
  make_ready(ctx, by_lane)
  return answers
end
