-- passes_alone(ctx, own): whether the policy approves this change without people: it is of low risk, as somebody has assessed this
-- revision, none of its tags forbids it, and no people were asked since the submit. Once people are asked, only people decide.
local function passes_alone(ctx, own)
  if not ctx.settings.auto_approve_low_risk or text_of(own, 'auto_approvable') ~= '1' or number_of(own, 'risk_rev') ~= own.rev then return false end
  if number_of(own, 'risk_score') >= number_of(own, 'p_auto_below') then return false end
  for tag in string.gmatch(text_of(own, 'tags'), '[^,]+') do  -- at most 16: tags
    if string.find(',' .. text_of(own, 'p_deny_tags') .. ',', ',' .. tag .. ',', 1, true) then return false end
  end
  return number_of(own, 'asked_ms') == 0
end
