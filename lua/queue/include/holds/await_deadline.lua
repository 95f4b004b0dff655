-- await_deadline(ctx, id, since_ms, due): store the next deadline of a waiting task: its move to the next lane (or
-- its failure in the last lane), counted from since_ms, or its expiry if it was never leased; the earlier one. due: a
-- list for the ZADD of the caller.
local function await_deadline(ctx, id, since_ms, due)
  local own = redis.call('HMGET', task .. id, 'fallback_after_ms', 'fallback', 'expires_at_ms', 'deliveries')
  local at_ms = MAX_SAFE
  if own[1] then
    at_ms = since_ms + own[1]
    if at_ms - ctx.now < 10000 then
      for lane in string.gmatch(own[2] or '', '[^,]+') do push_due(lane) end  -- nobody may serve the first
    end
  end
  if own[3] and not own[4] then at_ms = math.min(at_ms, tonumber(own[3])) end
  if at_ms == MAX_SAFE then return end
  if due then
    due[#due + 1] = string.format('%.0f', at_ms)
    due[#due + 1] = id
  else
    redis.call('ZADD', deadlines, string.format('%.0f', at_ms), id)
  end
end
