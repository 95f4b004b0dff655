-- full_score(ctx): the score in limit_lines of a queue whose limit is full now: it is looked at when a lease ends, or
-- after a change of `user:*`, `tag:*` or `key:*`.
local function full_score(ctx)
  return BAND + math.max(ctx.now, ctx.settings.limits + 1)
end
