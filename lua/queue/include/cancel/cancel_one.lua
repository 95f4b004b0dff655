-- cancel_one(ctx, id, dead_too): cancel a task: at once if it waits, by its worker if it runs. With dead_too, a dead
-- task leaves the dead set. Returns the answer.
-- LATE
local function cancel_one(ctx, id, dead_too)
  local record = read_record(id)
  local set, score = find_set(id, record)
  local state = state_of(ctx, set, score, record)
  if not state then return 'not_found' end
  if state == 'cancelled' then return 'cancelled' end
  local dead_before = state == 'dead'
  if state == 'completed' or (dead_before and not dead_too) then return 'finished' end
  if set == leases then
    local held = redis.call('HGET', running, id)
    if held and not string.find(held, ' cancel|', 1, true) then
      redis.call('HSET', running, id, (string.gsub(held, '|', ' cancel|', 1)))
      push_control(ctx, string.match(held, '^.* (%S+)$'))
    end
    return 'cancelling'
  end
  redis.call('ZREM', set, id)
  if record.limited_by then leave_line(id, record.limited_by) end
  if state == 'ready' and redis.call('EXISTS', set) == 0 then lane_emptied(ctx, record.lane or 'any') end
  if dead_before and record.reply then answer_waiters(ctx, id, 'cancelled', '') end
  cancel_task(ctx, id, not dead_before and record.ties, dead_before and 'from=dead')
  return 'cancelled'
end
