-- hold_once(ctx, field, id, keep_ms, stamp): let a key of `once` stand for a task: for so long, or, without keep_ms, until untied.
-- stamp: of the enqueue that made the task, where its record does not know the key; then it stands no more once it was purged.
local function hold_once(ctx, field, id, keep_ms, stamp)
  if not keep_ms then
    redis.call('HSET', once, field, id)
    return
  end
  local until_text = string.format('%.0f', ctx.now + keep_ms)
  redis.call('HSET', once, field, id .. ' ' .. until_text .. (stamp and ' ' .. stamp or ''))
  redis.call('ZADD', once_due, until_text, field)
  ctx.held = (ctx.held or 0) + 1
end
