-- next_due(conf, set, tally): see to what is due in a set, which is sorted by its times; the next time there, or MAX_SAFE. If more
-- is due than the call may do, that time is over, and the next call goes on.
local function next_due(conf, set, tally)
  local head = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
  if head[1] and tonumber(head[2]) <= conf.now then
    move_due(conf, set, tally)
    head = redis.call('ZRANGE', set, 0, 0, 'WITHSCORES')
  end
  return tonumber(head[2] or MAX_SAFE)
end
