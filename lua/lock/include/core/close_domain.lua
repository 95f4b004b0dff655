-- close_domain(ctx): store the time, the counters and the changed requests, and publish the hints of this call.
-- LATE
local function close_domain(ctx)
  local changes = { '#now', ctx.now_text, '#offset', ctx.offset, '#fence', string.format('%.0f', ctx.fence),
    '#waiting', ctx.waiting, '#due', ctx.due }
  for rid in pairs(ctx.changed or {}) do
    changes[#changes + 1] = rid
    changes[#changes + 1] = ctx.texts[rid]
  end
  for first = 1, #changes, 7000 do
    redis.call('HSET', requests, unpack(changes, first, math.min(first + 6999, #changes)))
  end
  if not ctx.exists then create_base() end
  for resource, words in pairs(ctx.hints or {}) do
    redis.pcall('SPUBLISH', channel .. resource, words)
    if ctx.settings.mirror then mirror_hint(resource, words) end
  end
end
