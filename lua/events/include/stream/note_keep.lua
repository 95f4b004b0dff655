-- note_keep(ctx): store the noun's own setting of how long events are kept, if it has one, for reads. Returns how long that is.
local function note_keep(ctx)
  local keep_ms = tonumber(redis.call('HGET', home, 'events_keep_ms') or 0)
  if keep_ms ~= ctx.settings.noun_keep_ms then redis.call('HSET', config, 'noun_keep_ms', keep_ms) end
  return keep_ms > 0 and keep_ms or ctx.settings.keep_ms
end
