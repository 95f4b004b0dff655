-- gathers(ctx, id): the place of a task, as text, if it waits for its children, and so gathers those that come now; otherwise
-- false. A call looks at each task once.
local function gathers(ctx, id)
  if ctx.gathers[id] == nil then
    local score = redis.call('ZSCORE', blocked, id)
    local row = score and redis.call('HMGET', task .. id, 'gather', 'limited_by') or {}
    ctx.gathers[id] = row[1] and not row[2] and string.format('%.0f', score % BAND) or false
  end
  return ctx.gathers[id]
end
