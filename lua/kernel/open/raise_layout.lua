-- raise_layout(done): let what is written be of the layout of these scripts, and older ones be refused. Returns the layout, that
-- in which everything is by now (0 and 0 where nothing is stored), and the layout before, if this has raised it. done: all that
-- was stored is rewritten.
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
