-- bury_task(conf, event, id, reason, tied, tally, error): move a task to the dead set; the caller has taken it out of the
-- set it was in, and writes the reason and the error into the record.
-- NEEDS dead emit untie answer_waiters
local function bury_task(conf, event, id, reason, tied, tally, error)
  if tied and untie(conf, id, 'f') then answer_waiters(conf, id, 'dead ' .. reason, error or '') end
  redis.call('ZADD', dead, conf.now, id)
  emit(conf, event, id, 'reason=' .. reason)
  tally.dead = (tally.dead or 0) + 1
end
