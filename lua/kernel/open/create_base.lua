-- create_base(clock): note of a new base which layout its data has, and its clock: that of the server, unless it is `test`.
local function create_base(clock)
  redis.call('HSET', config, 'layout', CREATED, 'layout_min', CREATED, 'clock', clock == 'test' and 'test' or 'server')
end
