-- create_queue(conf): note of a new queue which layout its data has, and that it uses the server's clock.
-- NEEDS config
local function create_queue(conf)
  if conf.exists then return end
  redis.call('HSET', config, 'layout', LAYOUT, 'layout_min', LAYOUT, 'clock', 'server')
end
