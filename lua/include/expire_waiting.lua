-- expire_waiting(conf, limit, tally): tasks whose deadline has come while they wait: one that expires goes to the dead set,
-- another goes over to its fallback lane, at its old place; how many.
-- NEEDS task ready deadlines emit read_record find_set lane_emptied line_up make_ready await_deadline bury_task drop_task
local function expire_waiting(conf, limit, tally)
  local ids, by_lane = redis.call('ZRANGE', deadlines, '-inf', conf.now, 'BYSCORE', 'LIMIT', 0, limit), {}
  if #ids == 0 then return 0 end
  redis.call('ZREM', deadlines, unpack(ids))
  for _, id in ipairs(ids) do
    local record = read_record(id)
    local set, score = find_set(id, record)
    if not record then
      drop_task(conf, id)
    elseif set then
      local lane = record.lane or 'any'
      local in_line = set == ready .. lane
      local expired = not record.deliveries and tonumber(record.expires_at_ms or MAX_SAFE) <= conf.now
      if expired or (in_line and record.fallback) then
        redis.call('ZREM', set, id)
        if in_line and redis.call('EXISTS', set) == 0 then lane_emptied(lane) end
      end
      if expired then
        redis.call('HSET', task .. id, 'reason', 'expired')
        bury_task(conf, 'task.expired', id, 'expired', true, tally)
      elseif record.fallback then
        redis.call('HSET', task .. id, 'lane', record.fallback)
        redis.call('HDEL', task .. id, 'fallback', 'fallback_after_ms')
        emit(conf, 'task.moved', id, 'lane=' .. record.fallback)
        if in_line then line_up(by_lane, record.fallback, score, id) end
        await_deadline(conf, id, conf.now)
      end
    end
  end
  make_ready(conf, by_lane)
  return #ids
end
