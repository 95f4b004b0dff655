-- begin_chains(conf): note that tasks of this queue mean something for others. Until the first one does, nobody looks.
local function begin_chains(conf)
  if not conf.chains then redis.call('HSET', config, 'chains', '1') end
  conf.chains = '1'
end
