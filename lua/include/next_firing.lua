-- next_firing(conf): when a schedule of the queue is due next, or 0: none is, or the queue takes no new tasks.
-- NEEDS schedules
local function next_firing(conf)
  if not conf.schedules or conf.draining then return 0 end
  local head = redis.call('ZRANGE', schedules, 0, 0, 'WITHSCORES')
  local due_ms = tonumber(head[2] or MAX_SAFE)
  return due_ms < MAX_SAFE and due_ms or 0
end
