-- open_due_lines(conf, limit): see to the lines of limits that are to be looked at by now, a tenth of so many, for each may let 100 go.
-- NEEDS limit_lines open_lines
local function open_due_lines(conf, limit)
  open_lines(conf, redis.call('ZRANGE', limit_lines, '-inf', conf.now, 'BYSCORE', 'LIMIT', 0, limit / 10), true)
end
