-- deliver_new(ctx, own, answer): deliver events that the group has not seen, in order, as far as there is room.
local function deliver_new(ctx, own, answer)
  local left = math.min(limit - #answer.items, 10000 - redis.call('ZCARD', pending .. group))
  local held, ages = {}, {}
  local until_text = string.format('%.0f', ctx.now + hold_ms)
  while left > 0 and answer.room > 0 do  -- at most 20: 50 events each. An event may have 300 KiB, so not all are read at once
    local entries = redis.call('XRANGE', events, '(' .. own.last, '+', 'COUNT', math.min(left, 50))
    for _, entry in ipairs(entries) do
      if answer.room <= 0 then break end
      own.last = add_event(answer, 'event', entry)
      held[#held + 1], ages[#ages + 1] = until_text, string.match(own.last, '^%d+')
      held[#held + 1], ages[#ages + 1] = own.last, own.last
      left = left - 1
    end
    if #entries < 50 then break end
  end
  if #held == 0 then return end
  own.seen, own.changed = own.seen + #held / 2, true
  redis.call('ZADD', pending .. group, unpack(held))  -- at most 2,000: two for each event of an answer
  redis.call('ZADD', unacked .. group, unpack(ages))
end
