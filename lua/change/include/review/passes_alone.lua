-- passes_alone(ctx, own): whether the policy approves this change without people: it is of low risk, as somebody has assessed this
-- revision, no tag that it has had since the submit forbids it, and no people were asked since the submit, or have rejected this content
-- before. Once people are asked, only people decide.
local function passes_alone(ctx, own)
  if not ctx.settings.auto_approve_low_risk or text_of(own, 'auto_approvable') ~= '1' or number_of(own, 'risk_rev') ~= own.rev then return false end
  if number_of(own, 'risk_score') >= number_of(own, 'p_auto_below') then return false end
  return number_of(own, 'asked_ms') == 0 and not needs_people(own)
end
