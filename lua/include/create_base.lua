-- create_base(): note of a new queue or domain which layout its data has, and that it uses the server's clock.
-- NEEDS config
local function create_base()
  redis.call('HSET', config, 'layout', LAYOUT, 'layout_min', LAYOUT, 'clock', 'server')
end
