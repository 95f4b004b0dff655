-- describe_death(ctx, attempt, error, sealed): what the event of a dead task says of its last run: its number, and the
-- end of the error as a percent-encoded word, as long as the settings allow. A sealed error is left out.
local function describe_death(ctx, attempt, error, sealed)
  local words = ' attempts=' .. attempt
  if error == '' or sealed or ctx.settings.events_max == 0 then return words end
  ctx.error_max = ctx.error_max or tonumber(redis.call('HGET', config, 'events_error_max') or DEFAULT_events_error_max)
  if ctx.error_max == 0 then return words end
  local shown = string.gsub(string.sub(error, -ctx.error_max), '^[\128-\191]+', '')  -- not from the middle of a character
  return words .. ' error=' .. string.gsub(shown, '[^%w._:/@+-]', function(one) return string.format('%%%02X', string.byte(one)) end)
end
