-- wait_answer(ctx, rid, request): what else a waiter is answered: its place, how often to ask, and whether all cycles
-- were searched for.
local function wait_answer(ctx, rid, request)
  read_rules(ctx)
  return place_of(request), ctx.poll_ms, ctx.detection and redis.call('ZSCORE', unchecked, rid) and 0 or 1
end
