-- passes_alone(ctx, own): whether the policy approves this change without people: it is of low risk, as somebody has assessed this
-- revision, and none of its tags forbids it.
local function passes_alone(ctx, own)
  if not ctx.settings.auto_approve_low_risk or own.auto_approvable ~= '1' or own.risk_rev ~= own.rev then return false end
  if own.risk_score >= own.p_auto_below then return false end
  for tag in string.gmatch(own.tags, '[^,]+') do  -- at most 16: tags
    if string.find(',' .. own.p_deny_tags .. ',', ',' .. tag .. ',', 1, true) then return false end
  end
  return true
end
