-- keep_step(ctx, id, name, kind, value, fence): store a step of a task that runs, unless there is one of this name: that
-- one stays. Returns what is stored now, as step_parts reads it; or nil and the answer to give: `lease_lost` (its record
-- is gone), `full` or `diverged`. A step counts for the bytes of its name and its value, and for 32 more.
local function keep_step(ctx, id, name, kind, value, fence)
  local own = redis.call('HMGET', task .. id, 'created_ms', 'durable')
  if not own[1] then return nil, { 'lease_lost' } end
  if not own[2] then redis.call('DEL', steps .. id) end  -- those of an older task whose record was evicted
  local earlier = own[2] and step_parts(redis.call('HGET', steps .. id, name))
  if earlier and earlier.kind ~= kind then return nil, { 'diverged', earlier.kind } end
  if earlier then return earlier end
  local count, bytes = string.match(own[2] or '0 0', '^(%d+) (%d+)$')
  count, bytes = count + 1, bytes + #name + #value + 32
  if count > ctx.settings.steps_max or bytes > ctx.settings.steps_bytes then return nil, { 'full' } end
  local step = { place = count, kind = kind, at_ms = ctx.now, fence = fence, value = value }
  redis.call('HSET', steps .. id, name, step_entry(step))
  redis.call('HSET', task .. id, 'durable', string.format('%d %d', count, bytes))
  return step
end
