-- sweep_rates(ctx): forget the rates that let a full burst start by now, 100 of them.
local function sweep_rates(ctx)
  local over = redis.call('ZRANGE', rates, '-inf', ctx.now, 'BYSCORE', 'LIMIT', 0, 100)
  if #over > 0 then redis.call('ZREM', rates, unpack(over)) end  -- at most 100: as read above
end
