-- find_line(conf, own): the first of the limits of a new task in whose line others wait; it goes behind them at once.
local function find_line(conf, own)
  local limited = limits_of(conf, own.user or '', table.concat(own.tags or {}, ','), table.concat(own.limits or {}, ','))
  for _, limit in ipairs(limited) do
    if conf.in_line[limit.key] == nil then conf.in_line[limit.key] = redis.call('EXISTS', waiting .. limit.key) == 1 end
    if conf.in_line[limit.key] and limit.policy == 'queue' then return limit end
  end
end
