-- restore_end(conf, id, record, how, tally): put a task that has ended among those that have. When it ended is not known, unless
-- it was cancelled; it is kept as if it ended now. The set that it is in then.
-- NEEDS finished dead result reply untie answer_waiters
local function restore_end(conf, id, record, how, tally)
  local tied = record.ties and untie(conf, id, (how == 'completed' or how == 'result_dropped') and 'c' or 'f')
  if tied and redis.call('EXISTS', reply .. id) == 0 then
    local word, value = how, ''
    if how == 'dead' then word, value = 'dead ' .. record.reason, record.error or '' end
    if how == 'completed' then
      local fits = redis.call('STRLEN', result .. id) <= 4096
      word, value = fits and how or 'result_dropped', fits and redis.call('GET', result .. id) or ''
    end
    answer_waiters(conf, id, word, value)
  end
  if how == 'dead' then
    redis.call('ZADD', dead, conf.now, id)
    tally.dead = (tally.dead or 0) + 1
    return 'dead'
  end
  redis.call('ZADD', finished, record.cancelled_ms or conf.now, id)
  conf.ended = conf.ended + 1
  return how == 'cancelled' and 'cancelled' or 'completed'
end
