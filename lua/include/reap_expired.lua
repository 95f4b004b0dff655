-- reap_expired(conf, limit, tally): take back leases past their deadline. The first crash returns a task to its old
-- place, the n-th waits for the backoff of n-1, max_crashes of them end it.
-- NEEDS running task leases emit read_lease end_leases backoff delay_until bury_task cancel_task make_ready
local function reap_expired(conf, limit, tally)
  local ids = redis.call('ZRANGE', leases, '-inf', conf.now, 'BYSCORE', 'LIMIT', 0, limit)
  if #ids == 0 then return 0 end
  local held = redis.call('HMGET', running, unpack(ids))
  end_leases(ids)
  tally.stalled = (tally.stalled or 0) + #ids
  for i, id in ipairs(ids) do
    local lease = read_lease(held[i])
    local crashes = lease and lease.crashes + 1
    if not lease then
      bury_task(conf, id, 'damaged', tally)
    else
      redis.call('HSET', task .. id, 'ran', lease.ran, 'crashes', crashes, 'deliveries', lease.delivery)
      emit(conf, 'task.stalled', id, 'crashes=' .. crashes .. ' worker=' .. lease.worker)
      if lease.cancelling then
        cancel_task(conf, id, tally)
      elseif crashes >= conf.max_crashes then
        bury_task(conf, id, 'crash_loop', tally)
      elseif crashes == 1 then
        redis.call('HSET', task .. id, 'ready_ms', conf.now_text)
        make_ready({ [lease.lane] = { lease.score, id } })
      else
        delay_until(conf.now + backoff(conf, id, crashes - 1, 500000), id, lease.lane)
      end
    end
  end
  return #ids
end
