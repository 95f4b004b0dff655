-- housekeep(ctx, wanted): once a second for each slot that claims: note the worker's presence, forget old ended tasks, silent
-- workers and keys of `once` whose time is over, and let features do what is due. False if more is left, for the next call.
local function housekeep(ctx, wanted)
  redis.call('ZADD', workers, ctx.now_text, worker)
  local trimmed = trim_ended(ctx, 100)
  sweep_workers(ctx)
  on_housekeep(ctx, wanted)
  return trimmed + sweep_once(ctx, 100) < 100 and not ctx.untrimmed
end
