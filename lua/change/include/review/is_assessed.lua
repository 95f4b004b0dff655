-- is_assessed(own): whether the change has the risk and the preview of this revision that its policy needs.
local function is_assessed(own)
  local needs = text_of(own, 'p_needs')
  return not ((needs == 'risk' or needs == 'both') and number_of(own, 'risk_rev') ~= own.rev
    or (needs == 'preview' or needs == 'both') and number_of(own, 'preview_rev') ~= own.rev)
end
