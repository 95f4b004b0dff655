-- close_domain(conf): store the time, the counters and what was written of requests, for the next call to go on from,
-- and publish what this call has told.
-- LATE
local function close_domain(conf)
  local changes = { '#now', conf.now_text, '#offset', conf.offset, '#fence', string.format('%.0f', conf.fence),
    '#waiting', conf.waiting, '#due', conf.due }
  for rid in pairs(conf.changed or {}) do
    changes[#changes + 1] = rid
    changes[#changes + 1] = conf.texts[rid]
  end
  for first = 1, #changes, 7000 do
    redis.call('HSET', requests, unpack(changes, first, math.min(first + 6999, #changes)))
  end
  if not conf.exists then create_base() end
  for resource, words in pairs(conf.hints or {}) do
    redis.pcall('SPUBLISH', channel .. resource, words)
    if conf.mirror then mirror_hint(resource, words) end
  end
end
