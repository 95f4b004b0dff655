-- trim_ended(ctx, limit, known): delete ended tasks beyond the age and the number that the queue keeps, at most limit finished
-- and limit dead ones. Returns how many. Once a minute it also trims old events in whole blocks, unless groups may hold them: then
-- reads of these groups do. known: when the caller did all this last; 0: never. It reads presence_ms for sweep_workers, and
-- history_ms for the history.
local function trim_ended(ctx, limit, known)
  local row = redis.call('HMGET', config, 'finished_keep_ms', 'dead_keep_ms', 'dead_max', 'events_keep_ms', 'presence_ms', 'history_ms')
  local finished_keep_ms, dead_keep_ms = tonumber(row[1] or DEFAULT_finished_keep_ms), tonumber(row[2] or DEFAULT_dead_keep_ms)
  ctx.presence_ms, ctx.history_ms = tonumber(row[5] or DEFAULT_presence_ms), tonumber(row[6] or 0)
  if math.floor(ctx.now / 60000) ~= math.floor(known / 60000) and ctx.now >= tonumber(redis.call('HGET', groups_config, 'held_ms') or 0) then
    local oldest_ms = math.max(0, ctx.now - tonumber(row[4] or DEFAULT_events_keep_ms))
    redis.call('XTRIM', events, 'MINID', '~', string.format('%.0f', oldest_ms))
  end
  return trim_set(ctx, finished, finished_keep_ms, ctx.settings.finished_max, limit)
    + trim_set(ctx, dead, dead_keep_ms, tonumber(row[3] or DEFAULT_dead_max), limit)
end
