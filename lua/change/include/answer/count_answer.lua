-- count_answer(ctx, action, since_ms): count an answer for the statistics of the actor; since_ms: when the request was opened, or nil if
-- it was answered before.
local function count_answer(ctx, action, since_ms)
  local key, day = userstats .. actor, math.floor(ctx.now / 86400000)
  local field = (action == 'approve' and 'a:' or 'r:') .. string.format('%.0f', day)
  local took, bound = ctx.now - (since_ms or ctx.now), 1
  while bound < took and bound < 4294967296 do bound = bound * 2 end  -- at most 32: doublings
  local bucket = string.format('took:%.0f', bound)
  local row = redis.call('HMGET', key, 'last_ms', field, 'answers', 'took_ms', bucket)
  if math.floor((row[1] or 0) / 86400000) ~= day then
    for _, name in ipairs(redis.call('HKEYS', key)) do  -- at most 150: two for each of 31 days, 33 bounds, three totals
      local past = string.match(name, '^[ar]:(%d+)$')
      if past and tonumber(past) <= day - 31 then redis.call('HDEL', key, name) end
    end
  end
  local new = { 'last_ms', ctx.now_text }
  if action == 'approve' or action == 'reject' then new[3], new[4] = field, (row[2] or 0) + 1 end
  if since_ms then
    new[#new + 1] = 'answers'
    new[#new + 1] = (row[3] or 0) + 1
    new[#new + 1] = 'took_ms'
    new[#new + 1] = (row[4] or 0) + took
    new[#new + 1] = bucket
    new[#new + 1] = (row[5] or 0) + 1
  end
  redis.call('HSET', key, unpack(new))  -- at most 10: two for each field
end
