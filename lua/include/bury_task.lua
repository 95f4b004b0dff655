-- bury_task(conf, event, id, reason, tied, tally, error, shown): move a task to the dead set; the caller has taken it out of the
-- set it was in, and writes the reason and the error into the record. shown: what the event says besides the reason, or nil.
local function bury_task(conf, event, id, reason, tied, tally, error, shown)
  if tied and untie(conf, id, 'f') then answer_waiters(conf, id, 'dead ' .. reason, error or '') end
  redis.call('ZADD', dead, conf.now, id)
  emit(conf, event, id, 'reason=' .. reason .. (shown or ''))
  tally.dead = (tally.dead or 0) + 1
end
