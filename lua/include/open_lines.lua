-- open_lines(conf, keys, again): see to the lines of these limits, as open_line does. What is more than one call may do is left to
-- the next claims.
local function open_lines(conf, keys, again)
  local batch, later = { by_lane = {}, freed = {}, looks = {} }, {}
  for i, key in ipairs(keys) do
    if conf.steps > 0 then
      -- at most 1,000: a page of keys
      if i % 1000 == 1 then read_limits(conf, { unpack(keys, i, math.min(i + 999, #keys)) }) end
      open_line(conf, key, batch, again)
    elseif not again then  -- else it is due still
      later[#later + 1] = conf.now - BAND
      later[#later + 1] = key
    end
  end
  local freed, looks = batch.freed, batch.looks
  for first = 1, #freed, 7000 do redis.call('ZREM', blocked, unpack(freed, first, math.min(first + 6999, #freed))) end
  for first = 1, #looks, 7000 do
    redis.call('ZADD', limit_lines, unpack(looks, first, math.min(first + 6999, #looks)))
  end
  for first = 1, #later, 7000 do
    redis.call('ZADD', limit_lines, 'XX', 'LT', unpack(later, first, math.min(first + 6999, #later)))
  end
  make_ready(conf, batch.by_lane)
  for first = 1, #freed, 1000 do
    emit(conf, 'task.unblocked', table.concat(freed, ' ', first, math.min(first + 999, #freed)), '')
  end
end
