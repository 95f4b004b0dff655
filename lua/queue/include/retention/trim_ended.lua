-- trim_ended(ctx, limit): delete ended tasks beyond what the queue keeps by age and number, at most limit of the
-- finished and of the dead; how many. Old events go as well: whole blocks of the stream, which costs next to nothing. The row
-- that it reads has also for how long a worker may be silent, ctx.presence_ms.
local function trim_ended(ctx, limit)
  local row = redis.call('HMGET', config, 'finished_keep_ms', 'dead_keep_ms', 'dead_max', 'events_keep_ms', 'presence_ms')
  local finished_keep_ms, dead_keep_ms = tonumber(row[1] or DEFAULT_finished_keep_ms), tonumber(row[2] or DEFAULT_dead_keep_ms)
  ctx.presence_ms = tonumber(row[5] or DEFAULT_presence_ms)
  local oldest_ms = math.max(0, ctx.now - tonumber(row[4] or DEFAULT_events_keep_ms))
  redis.call('XTRIM', events, 'MINID', '~', string.format('%.0f', oldest_ms))
  return trim_set(ctx, finished, finished_keep_ms, ctx.settings.finished_max, limit)
    + trim_set(ctx, dead, dead_keep_ms, tonumber(row[3] or DEFAULT_dead_max), limit)
end
