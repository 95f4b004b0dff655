-- comes_alone(conf, record): whether a task is of one of the kinds that this call leases alone.
local function comes_alone(conf, record)
  for f = 1, #record, 2 do
    if record[f] == 'kind' then return conf.alone[record[f + 1]] end
  end
end
