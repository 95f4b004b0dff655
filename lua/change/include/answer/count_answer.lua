-- count_answer(ctx, action, since_ms): count an answer for the statistics of the actor; since_ms: when the request was opened, or nil if
-- it was answered before.
local function count_answer(ctx, action, since_ms)
  local key, day = userstats .. actor, math.floor(ctx.now / 86400000)
  local field = (action == 'approve' and 'a:' or 'r:') .. string.format('%.0f', day)
  local row = redis.call('HMGET', key, 'last_ms', field, 'answers', 'took_ms')
  if math.floor((row[1] or 0) / 86400000) ~= day then
    for _, name in ipairs(redis.call('HKEYS', key)) do  -- at most 150: two for each of 31 days, 33 bounds, three totals
      local past = string.match(name, '^[ar]:(%d+)$')
      if past and tonumber(past) <= day - 31 then redis.call('HDEL', key, name) end
    end
  end
  local new = { 'last_ms', ctx.now_text }
  if action == 'approve' or action == 'reject' then new[3], new[4] = field, (row[2] or 0) + 1 end
  if since_ms then
    local took, bound = ctx.now - since_ms, 1
    while bound < took and bound < 4294967296 do bound = bound * 2 end  -- at most 32: doublings
    redis.call('HINCRBY', key, string.format('took:%.0f', bound), 1)
    new[#new + 1] = 'answers'
    new[#new + 1] = (row[3] or 0) + 1
    new[#new + 1] = 'took_ms'
    new[#new + 1] = (row[4] or 0) + took
  end
  redis.call('HSET', key, unpack(new))  -- at most 8: two for each field
end
