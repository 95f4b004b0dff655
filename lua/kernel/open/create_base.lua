-- create_base(): note of a new queue or domain which layout its data has, and that it uses the server's clock.
local function create_base()
  redis.call('HSET', config, 'layout', CREATED, 'layout_min', CREATED, 'clock', 'server')
end
