-- level_of(ctx, score): the level of a risk.
local function level_of(ctx, score)
  return score >= ctx.settings.risk_critical and 'critical' or score >= ctx.settings.risk_high and 'high'
    or score >= ctx.settings.risk_medium and 'medium' or 'low'
end
