-- housekeep(ctx, wanted, known): once a second for each slot that claims: note the worker's presence, forget old ended tasks,
-- silent workers and keys of `once` whose time is over, and let features do what is due. False if more is left, for the next call.
-- known: when it did that last.
local function housekeep(ctx, wanted, known)
  redis.call('ZADD', workers, ctx.now_text, worker)
  local trimmed = trim_ended(ctx, 100, known)
  sweep_workers(ctx)
  on_housekeep(ctx, wanted)
  return trimmed + sweep_once(ctx, 100) < 100 and not ctx.untrimmed
end
