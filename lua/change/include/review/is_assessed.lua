-- is_assessed(ctx, own): whether the change has the risk and the preview of this revision that its policy needs. A preview is kept for a time.
local function is_assessed(ctx, own)
  local needs = text_of(own, 'p_needs')
  if (needs == 'risk' or needs == 'both') and number_of(own, 'risk_rev') ~= own.rev then return false end
  if needs ~= 'preview' and needs ~= 'both' then return true end
  return number_of(own, 'preview_rev') == own.rev and number_of(own, 'preview_until_ms') > ctx.now
end
