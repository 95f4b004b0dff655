-- bury_task(conf, id, reason, tally): move a task to the dead set; the caller has taken it out of the set it was in,
-- and writes the reason into the record.
-- NEEDS dead emit
local function bury_task(conf, id, reason, tally)
  redis.call('ZADD', dead, conf.now, id)
  emit(conf, 'task.dead', id, 'reason=' .. reason)
  tally.dead = (tally.dead or 0) + 1
end
