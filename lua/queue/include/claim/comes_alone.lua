-- comes_alone(ctx, record): whether a task is of one of the kinds that this call leases alone.
local function comes_alone(ctx, record)
  for f = 1, #record, 2 do
    if record[f] == 'kind' then return ctx.alone[record[f + 1]] end
  end
end
