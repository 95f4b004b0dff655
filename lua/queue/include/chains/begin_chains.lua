-- begin_chains(ctx): note that tasks of this queue mean something for others. Until the first one does, nobody looks.
local function begin_chains(ctx)
  if not (ctx.settings.chains or ctx.has_chains) then redis.call('HSET', config, 'chains', '1') end
  ctx.has_chains = true
end
