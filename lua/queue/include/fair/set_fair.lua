-- set_fair(ctx, changes): switch fair shares on or off, once: the setting is the place from which they hold, 0 for none. Who comes
-- after the change stands behind all who are in line. fair_top stays, above 0: by it lane_emptied knows that lanes may have shares,
-- though no place was dealt: a claim notes shares of tasks that were in line before.
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
