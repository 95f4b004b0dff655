-- knows_rev(ctx, rev_text): whether the server had that rev, and has forgotten no removal since.
-- EARLY
local function knows_rev(ctx, rev_text)
  return tonumber(rev_text) == ctx.settings.rev or redis.call('ZSCORE', revs, rev_text)
end
