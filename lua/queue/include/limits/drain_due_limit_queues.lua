-- drain_due_limit_queues(ctx): process limit queues that are due, and queues that were full before a `*` limit was
-- changed: usually 100, at most 140. ctx.lines_left: there may be more.
local function drain_due_limit_queues(ctx)
  local due = redis.call('ZRANGE', limit_lines, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, 100, 'WITHSCORES')
  local fresh, again = {}, {}
  for i = 1, #due, 2 do table.insert(tonumber(due[i + 1]) < 0 and fresh or again, due[i]) end
  if #fresh == 100 then again = redis.call('ZRANGE', limit_lines, 0, ctx.now, 'BYSCORE', 'LIMIT', 0, 20) end  -- their turn has come, too
  local more, left = 100 - #due / 2, #due == 200
  if ctx.settings.limits > 1 then
    more = math.max(more, 20)  -- take at least 20, so that due queues cannot starve them
    due = redis.call('ZRANGE', limit_lines, BAND, BAND + ctx.settings.limits, 'BYSCORE', 'LIMIT', 0, more)
    for i, key in ipairs(due) do fresh[#fresh + 1], more = key, more - 1 end
  end
  ctx.lines_left = left or more == 0
  if again[1] then drain_limit_queues(ctx, again, true) end
  ctx.steps = math.max(ctx.steps, 20)  -- keep at least 20 steps for the queues in `fresh`
  if fresh[1] then drain_limit_queues(ctx, fresh) end
end
