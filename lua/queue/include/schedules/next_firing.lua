-- next_firing(ctx): the time of the next firing of any schedule; 0 if there is none, or if the queue is draining.
local function next_firing(ctx)
  if ctx.settings.mode == 'draining' then return 0 end
  local head = redis.call('ZRANGE', schedules, 0, 0, 'WITHSCORES')
  local due_ms = tonumber(head[2] or MAX_SAFE)
  return due_ms < MAX_SAFE and due_ms or 0
end
