-- sweep_workers(ctx): forget workers that have been silent for too long: at most 100, as many as ctx.work allows, at
-- least 10. Their leases expire by themselves.
local function sweep_workers(ctx)
  local silent_ms = ctx.presence_ms or read_presence()
  local most = math.max(10, math.min(100, math.floor(ctx.work / 6)))
  local gone = redis.call('ZRANGE', workers, '-inf', ctx.now - silent_ms, 'BYSCORE', 'LIMIT', 0, most)
  ctx.work = ctx.work - 6 * #gone
  for _, name in ipairs(gone) do
    redis.call('ZREM', workers, name)
    retire_worker(name, true)
    emit(ctx, 'worker.lost', name, '')
  end
  if #gone > 0 then add_count(ctx, 'workers_lost', #gone) end
end
