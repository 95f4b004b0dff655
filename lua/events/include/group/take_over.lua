-- take_over(ctx, own, answer): deliver events again that were not acknowledged in time, at most `limit`. Those that were trimmed meanwhile
-- are lost to the group.
local function take_over(ctx, own, answer)
  local due = redis.call('ZRANGE', pending .. group, '-inf', ctx.now_text, 'BYSCORE', 'LIMIT', 0, limit)
  local held, gone = {}, {}
  for _, id in ipairs(due) do
    if answer.room <= 0 then break end
    local entry = redis.call('XRANGE', events, id, id, 'COUNT', 1)[1]
    if entry then
      held[#held + 1] = string.format('%.0f', ctx.now + hold_ms)
      held[#held + 1] = add_event(answer, 'again', entry)
    else
      gone[#gone + 1] = id
      add_gap(own, id, id, 1)
    end
  end
  if #held > 0 then redis.call('ZADD', pending .. group, unpack(held)) end  -- at most 2,000: two for each event of an answer
  if #gone > 0 then
    redis.call('ZREM', pending .. group, unpack(gone))  -- at most 1,000: events of an answer
    redis.call('ZREM', unacked .. group, unpack(gone))
  end
end
