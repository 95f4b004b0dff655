-- raise_layout(done): let what is written be of the layout of these scripts, and older ones be refused; the layout before, if
-- that is a change. `rewritten` says up to which layout all is rewritten that was stored; done: to this one, by now.
-- NEEDS config
local function raise_layout(done)
  local row = redis.call('HMGET', config, 'layout', 'rewritten')
  local before = row[1]
  if before and tonumber(before) < LAYOUT then
    redis.call('HSET', config, 'layout_min', LAYOUT, 'layout', LAYOUT, 'rewritten', row[2] or before)
    return before
  end
  if before and done and row[2] then redis.call('HSET', config, 'rewritten', LAYOUT) end
end
