-- raise_layout(): let what is written be of the layout of these scripts, and older ones be refused; the layout before, or nil
-- where nothing is stored or nothing is to be raised.
-- NEEDS config
local function raise_layout()
  local before = redis.call('HGET', config, 'layout')
  if not before or tonumber(before) >= LAYOUT then return nil end
  redis.call('HSET', config, 'layout_min', LAYOUT, 'layout', LAYOUT)
  return before
end
