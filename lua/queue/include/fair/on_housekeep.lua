-- fair_on_housekeep(ctx, wanted): forget the users whose last task in one of these lanes has been claimed, at most 100
-- per priority band. Their next task is placed like that of a new user. If there are more than eight lanes, each second
-- handles the next eight.
-- WHEN ctx.settings.fair > 0
local function fair_on_housekeep(ctx, wanted)
  local first = #wanted > 8 and 8 * math.floor(ctx.now / 1000) or 0
  for at = first, first + math.min(#wanted, 8) - 1 do
    local lane = wanted[at % #wanted + 1]
    local claimed = redis.call('ZMSCORE', shares .. lane, '0 claimed', '1 claimed', '2 claimed', '3 claimed', '4 claimed',
      '5 claimed', '6 claimed', '7 claimed', '8 claimed', '9 claimed')
    for band = 0, 9 do
      local upto = claimed[band + 1]
      local over = upto and redis.call('ZRANGE', shares .. lane, string.format('%.0f', band * BAND), '(' .. upto, 'BYSCORE',
        'LIMIT', 0, 100) or {}
      if #over > 0 then redis.call('ZREM', shares .. lane, unpack(over)) end  -- at most 100: as read above
    end
  end
end
