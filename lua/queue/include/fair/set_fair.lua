-- set_fair(ctx, changes): switch fair shares on or off, once: the setting stores the first fair place, or 0 for off.
-- Tasks that are enqueued after the change are placed behind all waiting tasks. fair_top stays above 0 after switching
-- off, so that lane_emptied still deletes the shares of a lane.
local function set_fair(ctx, changes)
  local place = math.max(tonumber(redis.call('HGET', config, 'place') or 0), ctx.settings.fair_top)
  local value = string.format('%.0f', ctx.settings.fair)
  if changes.fair and ctx.settings.fair == 0 then value = string.format('%.0f', place + 1) end
  if ctx.settings.fair > 0 and not changes.fair then
    value = '0'
    local top = string.format('%.0f', place)
    redis.call('HSET', config, 'place', top, 'fair_top', top)
  end
  for i = 1, #changes, 2 do
    if changes[i] == 'fair' then changes[i + 1] = value end
  end
end
