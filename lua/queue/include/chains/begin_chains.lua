-- begin_chains(ctx): note that the queue has chains. Until then, no call looks for tasks that wait for others.
local function begin_chains(ctx)
  if not (ctx.settings.chains or ctx.has_chains) then redis.call('HSET', config, 'chains', '1') end
  ctx.has_chains = true
end
