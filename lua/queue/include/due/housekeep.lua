-- housekeep(ctx, counts, wanted): once a second for each slot that claims: note the worker's presence, mend lines of limits, forget silent workers, old
-- ended tasks and keys of `once` whose time is over. False if more of these are left, for the next call.
local function housekeep(ctx, counts, wanted)
  redis.call('ZADD', workers, ctx.now_text, worker)
  local trimmed = trim_ended(ctx, 100, counts)
  sweep_workers(ctx, counts)
  if ctx.limits then
    sweep_rates(ctx)
    mend_lines(ctx)
  end
  if ctx.fair then sweep_shares(ctx, wanted) end
  return trimmed + sweep_once(ctx, 100) < 100 and not ctx.untrimmed
end
