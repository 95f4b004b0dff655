-- bury_task(conf, event, id, reason, tied, tally): move a task to the dead set; the caller has taken it out of the set it
-- was in, and writes the reason into the record.
-- NEEDS dead emit untie
local function bury_task(conf, event, id, reason, tied, tally)
  if tied then untie(id) end
  redis.call('ZADD', dead, conf.now, id)
  emit(conf, event, id, 'reason=' .. reason)
  tally.dead = (tally.dead or 0) + 1
end
