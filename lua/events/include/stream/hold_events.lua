-- hold_events(ctx, lapse_ms): note that a group may hold events until it lapses. Until then the noun does not trim them by age: reads do.
local function hold_events(ctx, lapse_ms)
  redis.call('HSET', config, 'held_ms', string.format('%.0f', ctx.now + lapse_ms))
end
