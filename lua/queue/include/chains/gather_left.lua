-- gather_left(id, record, others): for how many more children a gathering task waits, without `others`, for which it
-- waits in addition. The second value is the task's place, if a child knows it. Looks at 1,000 children.
local function gather_left(id, record, others)
  local kids, ended, place = redis.call('ZRANGE', children .. id, 0, 999), 0, nil
  local done = #kids > 0 and redis.call('ZMSCORE', finished, unpack(kids)) or {}  -- at most 1,000: the page
  local died = #kids > 0 and redis.call('ZMSCORE', dead, unpack(kids)) or {}  -- at most 1,000: the page
  for i, kid in ipairs(kids) do
    if done[i] or died[i] then ended = ended + 1 end
    place = place or tonumber(not done[i] and not died[i] and redis.call('HGET', task .. kid, 'gathered') or nil)
  end
  return math.max(0, math.min(tonumber(record.awaits or 0) - others, record.gather - ended)), place
end
