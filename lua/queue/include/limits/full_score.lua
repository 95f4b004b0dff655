-- full_score(ctx): the score in limit_lines of a line whose limit is full now: it is looked at when a lease ends, or when a limit of
-- a kind is changed.
local function full_score(ctx)
  return BAND + math.max(ctx.now, ctx.settings.limits + 1)
end
