-- sweep_workers(conf, tally): forget workers that have been silent for too long, at most 100, as many as conf.work allows, or 20; their leases expire by
-- themselves.
local function sweep_workers(conf, tally)
  local silent_ms = conf.presence_ms or read_presence()
  local most = math.max(20, math.min(100, math.floor(conf.work / 6)))
  local gone = redis.call('ZRANGE', workers, '-inf', conf.now - silent_ms, 'BYSCORE', 'LIMIT', 0, most)
  conf.work = conf.work - 6 * #gone
  for _, name in ipairs(gone) do
    redis.call('ZREM', workers, name)
    retire_worker(name)
    emit(conf, 'worker.lost', name, '')
  end
  if #gone > 0 then tally.workers_lost = #gone end
end
