-- close_claim(ctx, next_ms): the end of a call that has claimed: as close, but the sweep has told of some ends. The time of what is
-- due next: now if there is more to tell.
local function close_claim(ctx, next_ms)
  if ctx.settings.limits > 0 then next_ms = end_limited(ctx, next_ms) end
  if ctx.noted then
    local left = 100 - ctx.told
    local all = left > 0 and propagate_ends(ctx, left) < left
    if not all and redis.call('EXISTS', ends) == 1 then next_ms = ctx.now end
  end
  retain(ctx)
  write_counts(ctx)
  return next_ms
end
