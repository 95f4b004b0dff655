-- create_base(clock): store the layout and the clock of a new base. The clock is `test` or `server` (the default).
local function create_base(clock)
  redis.call('HSET', config, 'layout', CREATED, 'layout_min', CREATED, 'clock', clock == 'test' and 'test' or 'server')
end
