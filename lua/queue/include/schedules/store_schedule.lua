-- store_schedule(ctx, plan): store the schedule of this call. If its plan differs from the stored one, it has a new
-- revision. If its timing differs, its next time is the one that the caller has computed, unless it is paused. Returns
-- created, changed or unchanged, and the revision. plan: the six fields that a call puts, each name before its value.
local function store_schedule(ctx, plan)
  local key = schedule .. name
  local old = redis.call('HMGET', key, plan[1], plan[3], plan[5], plan[7], plan[9], plan[11], 'rev', 'paused')
  local same = true
  for i = 1, 6 do same = same and old[i] == plan[2 * i] end
  if same then return 'unchanged', tonumber(old[7]) end
  if not ctx.exists then create_base() end
  local rev = redis.call('HINCRBY', config, 'revisions', 1)
  redis.call('HSET', key, 'rev', rev, 'changed_ms', ctx.now_text, unpack(plan))  -- at most 12: the plan above
  if not old[7] then
    redis.call('HSET', key, 'created_ms', ctx.now_text)
    local still_open = redis.call('GET', runs .. name)
    if still_open then
      redis.call('HSET', key, 'open', still_open)
      redis.call('DEL', runs .. name)
    end
  end
  if not ctx.settings.schedules then redis.call('HSET', config, 'schedules', '1') end
  if old[1] ~= plan[2] and not old[8] then plan_firing(ctx, next_ms) end
  emit(ctx, old[7] and 'schedule.changed' or 'schedule.created', name, 'rev=' .. rev)
  return old[7] and 'changed' or 'created', rev
end
