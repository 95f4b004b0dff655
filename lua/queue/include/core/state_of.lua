-- state_of(ctx, set, score, record): the state of a task by the set it is in; nil if it is in none.
local function state_of(ctx, set, score, record)
  if not set then return nil end
  if set == leases then return tonumber(score) > ctx.now and 'running' or 'stalled' end
  if set == finished then return record.cancelled_ms and 'cancelled' or 'completed' end
  return set == delayed and 'delayed' or set == blocked and 'blocked' or set == dead and 'dead' or 'ready'
end
