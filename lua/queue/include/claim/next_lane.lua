-- next_lane(ctx, id, record): move a task that no worker has taken to the next of its fallback lanes. Returns the lane.
local function next_lane(ctx, id, record)
  local lane, rest = string.match(record.fallback, '^([^,]+),?(.*)$')
  redis.call('HSET', task .. id, 'lane', lane, 'fallback', rest)
  local timer = record.unclaimed ~= 'fail' and 'fallback_after_ms' or nil
  if rest == '' then redis.call('HDEL', unpack({ task .. id, 'fallback', timer })) end  -- at most 3: the table beside it
  emit(ctx, 'task.moved', id, 'lane=' .. lane)
  return lane
end
