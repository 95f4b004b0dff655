-- raise_layout(done): mark the data as written with the layout of these scripts, so that older scripts are refused.
-- Returns the layout; the layout that all data has by now (0 and 0 if nothing is stored); and the layout before, if it
-- was raised. done: all stored data is rewritten.
local function raise_layout(done)
  local row = redis.call('HMGET', config, 'layout', 'rewritten')
  local before = row[1]
  if not before then return 0, 0 end
  local layout, rewritten = tonumber(before), tonumber(row[2] or before)
  if layout < LAYOUT then
    redis.call('HSET', config, 'layout_min', LAYOUT, 'layout', LAYOUT, 'rewritten', rewritten)
    return LAYOUT, rewritten, before
  end
  if done and rewritten < LAYOUT then
    redis.call('HSET', config, 'rewritten', LAYOUT)
    rewritten = LAYOUT
  end
  return layout, rewritten
end
