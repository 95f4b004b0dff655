-- next_firing(ctx): when a schedule is due next, of a queue that has any; 0: none is, or the queue takes no new tasks.
local function next_firing(ctx)
  if ctx.settings.mode == 'draining' then return 0 end
  local head = redis.call('ZRANGE', schedules, 0, 0, 'WITHSCORES')
  local due_ms = tonumber(head[2] or MAX_SAFE)
  return due_ms < MAX_SAFE and due_ms or 0
end
