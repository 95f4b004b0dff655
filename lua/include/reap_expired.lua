-- reap_expired(conf, limit, tally): take back leases past their deadline; of those that share one, the first in line first, as
-- far as they are among the first 1,000, and as many as conf.work allows. The first crash returns a task to its old place, the n-th waits for the backoff of n-1, max_crashes of them end it.
local function reap_expired(conf, limit, tally)
  local ids = redis.call('ZRANGE', leases, '-inf', conf.now, 'BYSCORE', 'LIMIT', 0, limit + 1)
  if #ids == 0 then return 0 end
  local held, by_lane, due, latest_ms, count = redis.call('HMGET', running, unpack(ids)), {}, {}, 0, 0  -- at most 1,001: one more than the limit
  while count < math.min(limit, #ids) and conf.work > 0 do  -- at most 1,000: limit
    count = count + 1
    local _, holds = string.gsub(held_limits(held[count]), ',', '')
    conf.work = conf.work - 3 - 2 * holds - (string.find(held[count] or '', ' ties', 1, true) and 12 or 0)
  end
  if count < #ids then
    ids = first_leases(conf, count)
    held = redis.call('HMGET', running, unpack(ids))  -- at most 1,000: limit
  end
  local all = read_policy(config)
  end_leases(conf, ids)
  tally.stalled = #ids
  for i, id in ipairs(ids) do
    local lease = read_lease(held[i])
    conf.trace = lease and lease.trace
    if redis.call('HEXISTS', task .. id, 'created_ms') == 0 then
      drop_task(conf, id)
    elseif not lease then
      redis.call('HSET', task .. id, 'reason', 'damaged')
      bury_task(conf, 'task.dead', id, 'damaged', true, tally)
    else
      local crashes, reason, back_ms = lease.crashes + 1, nil, nil
      emit(conf, 'task.stalled', id, 'crashes=' .. crashes .. ' worker=' .. lease.worker)
      if lease.cancelling then
        cancel_task(conf, id, lease.tied, tally)
      elseif crashes >= tonumber(all[6] or DEFAULT_max_crashes) then
        reason = 'crash_loop'
        redis.call('HDEL', task .. id, 'error', 'exit_code')  -- of another attempt
        bury_task(conf, 'task.dead', id, reason, lease.tied, tally, nil, ' attempts=' .. lease.attempt - 1)
      elseif crashes == 1 then
        back_ms = conf.now
        line_up(by_lane, lease.lane, lease.score, id)
      else
        back_ms = conf.now + backoff(read_policy(task .. id), all, crashes - 1, 500000)
        delay_until(conf, back_ms, id, lease.lane)
        redis.call('HSET', task .. id, 'stood', string.format('%.0f ', back_ms) .. lease.score)
        latest_ms = math.max(latest_ms, back_ms)
      end
      redis.call('HSET', task .. id, 'ran', lease.ran, 'crashes', crashes, 'deliveries', lease.delivery,
        reason and 'reason' or 'ready_ms', reason or conf.now_text)
      if lease.tied and back_ms then await_deadline(conf, id, back_ms, due) end
    end
  end
  conf.trace = nil
  if due[1] then redis.call('ZADD', deadlines, unpack(due)) end  -- at most 2,000: two for each lease
  make_ready(conf, by_lane)
  if latest_ms > tonumber(latest_ms > 0 and redis.call('HGET', config, 'crashed_due_ms') or 0) then
    redis.call('HSET', config, 'crashed_due_ms', string.format('%.0f', latest_ms))
  end
  return #ids
end
