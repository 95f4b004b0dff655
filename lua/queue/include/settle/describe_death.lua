-- describe_death(ctx, attempt, error, hidden): what the event of a dead task says of its last run: its number, and the
-- end of the error as a percent-encoded word, as long as the settings allow. A hidden error is left out: it is sealed,
-- or that of a restricted task.
local function describe_death(ctx, attempt, error, hidden)
  local words = ' attempts=' .. attempt
  if error == '' or hidden or ctx.settings.events_max == 0 then return words end
  ctx.error_max = ctx.error_max or tonumber(redis.call('HGET', config, 'events_error_max') or DEFAULT_events_error_max)
  if ctx.error_max == 0 then return words end
  local shown = string.gsub(string.sub(error, -ctx.error_max), '^[\128-\191]+', '')  -- not from the middle of a character
  return words .. ' error=' .. string.gsub(shown, '[^%w._:/@+-]', function(one) return string.format('%%%02X', string.byte(one)) end)
end
