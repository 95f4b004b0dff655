-- restore_end(conf, id, record, how, tally): put a task that has ended among those that have. When it ended is not known, unless
-- it was cancelled; it is kept as if it ended now. The set that it is in then.
local function restore_end(conf, id, record, how, tally)
  end_ties(conf, id, record, how)
  if how == 'dead' then
    redis.call('ZADD', dead, conf.now, id)
    tally.dead = (tally.dead or 0) + 1
    return 'dead'
  end
  redis.call('ZADD', finished, record.cancelled_ms or conf.now, id)
  conf.ended = conf.ended + 1
  return how == 'cancelled' and 'cancelled' or 'completed'
end
