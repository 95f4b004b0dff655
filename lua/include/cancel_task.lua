-- cancel_task(conf, id, tied, tally, detail): end a task as cancelled; the caller has taken it out of the set it was in.
-- EARLY
local function cancel_task(conf, id, tied, tally, detail)
  if tied and untie(conf, id, 'f') then answer_waiters(conf, id, 'cancelled', '') end
  redis.call('HSET', task .. id, 'cancelled_ms', conf.now_text)
  redis.call('ZADD', finished, conf.now, id)
  emit(conf, 'task.cancelled', id, detail or '')
  tally.cancelled = (tally.cancelled or 0) + 1
  conf.ended = conf.ended + 1
end
