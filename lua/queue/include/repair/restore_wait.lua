-- restore_wait(ctx, id, record, score): let a task wait again where it did: for other tasks, for its time, or in its
-- lane at its old place, which the score, its ordering key or a set of dependents may still know. Returns the state.
local function restore_wait(ctx, id, record, score)
  local key, lane, band = task .. id, record.lane or 'any', tonumber(record.priority) or 5
  local status, number = string.match(record.settled or '', '^%S+ (%l+) (%d+)$')
  local place = score and score % BAND or status == 'released' and tonumber(number) or nil
  local fresh = not (record.ready_ms or record.deliveries)
  local own = { priority = band, expires_at_ms = not record.deliveries and record.expires_at_ms or nil }
  if record.limited_by then
    local at = redis.call('ZSCORE', waiting .. record.limited_by, id)
    place = at and at % BAND or place
  end
  for i, kind in ipairs({ 'unique', 'scope' }) do
    if record[kind] and (i == 1 or fresh) then redis.call('HSETNX', once, kind .. ':' .. record[kind], id) end
  end
  local others, linked, left = {}, 0, 0
  for other in string.gmatch(record.after or '', '[^,]+') do
    local at = tonumber(redis.call('ZSCORE', dependents .. other, id) or nil)
    place, linked = at or place, linked + (at and 1 or 0)
    if redis.call('HEXISTS', task .. other, 'created_ms') == 1 then others[#others + 1] = other end
  end
  if fresh and record.gather then
    local known
    left, known = gather_left(id, record, linked)
    place = known or place
  end
  if record.ordering_key then place = tonumber(redis.call('ZSCORE', order .. record.ordering_key, id) or nil) or place end
  if not place then
    place = ctx.settings.fair > 0 and share_place(ctx, lane, record.user or '', band) or place_by_age(lane, band, id, record)
  end
  if record.ordering_key then
    redis.call('ZADD', order .. record.ordering_key, 'NX', place, id)
    own.behind = redis.call('ZRANGE', order .. record.ordering_key, 0, 0)[1] ~= id
  end
  if left > 0 then own.gather = left end
  if fresh and #others > 0 and tonumber(record.awaits or 0) > 0 then own.after = others end
  if own.behind or own.gather or own.after then
    local by_set = {}
    ctx.there = {}
    redis.call('HSET', key, 'awaits', await_others(ctx, id, own, place, by_set))
    redis.call('ZADD', blocked, unpack(by_set[blocked]))  -- at most 2: this task
    return 'blocked'
  end
  local due_ms = (status == 'retried' or status == 'snoozed') and tonumber(number) or 0
  if fresh then due_ms = math.max(record.created_ms + (record.delay_ms or 0), tonumber(record.run_after_ms or 0)) end
  if due_ms > ctx.now then
    delay_until(ctx, due_ms, id, lane)
  else
    local by_lane = {}
    line_up(by_lane, lane, band * BAND + place, id)
    make_ready(ctx, by_lane)
    redis.call('HSET', key, 'ready_ms', ctx.now_text)
  end
  if record.ties then await_deadline(ctx, id, math.max(due_ms, ctx.now)) end
  return due_ms > ctx.now and 'delayed' or 'ready'
end
