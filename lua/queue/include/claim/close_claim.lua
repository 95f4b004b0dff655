-- close_claim(ctx, next_ms): finish a call that has claimed. It does what close does, but the sweep has reported some
-- ends already. Returns when something is due next: now, if there is more to report.
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
