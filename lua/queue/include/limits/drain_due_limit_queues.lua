-- drain_due_limit_queues(ctx): see to the lines of limits that are to be looked at by now, and to those that were full before a limit of
-- their kind was changed, 100 in all, or 140 where as many are due each time. ctx.lines_left: there may be more.
local function drain_due_limit_queues(ctx)
  local due = redis.call('ZRANGE', limit_lines, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, 100, 'WITHSCORES')
  local fresh, again = {}, {}
  for i = 1, #due, 2 do table.insert(tonumber(due[i + 1]) < 0 and fresh or again, due[i]) end
  if #fresh == 100 then again = redis.call('ZRANGE', limit_lines, 0, ctx.now, 'BYSCORE', 'LIMIT', 0, 20) end  -- their turn has come, too
  local more, left = 100 - #due / 2, #due == 200
  if ctx.settings.limits > 1 then
    more = math.max(more, 20)  -- the lines that are due each time do not keep these from their turn
    due = redis.call('ZRANGE', limit_lines, BAND, BAND + ctx.settings.limits, 'BYSCORE', 'LIMIT', 0, more)
    for i, key in ipairs(due) do fresh[#fresh + 1], more = key, more - 1 end
  end
  ctx.lines_left = left or more == 0
  if again[1] then drain_limit_queues(ctx, again, true) end
  ctx.steps = math.max(ctx.steps, 20)  -- nor do those that were looked at
  if fresh[1] then drain_limit_queues(ctx, fresh) end
end
