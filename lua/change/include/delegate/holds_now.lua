-- holds_now(ctx, own, fields): whether a delegation is active, by its times too, and the risk of a change is one that it is for.
local function holds_now(ctx, own, fields)
  local from, till, above, below = tonumber(fields.from_ms), tonumber(fields.until_ms), tonumber(fields.risk_above), tonumber(fields.risk_below)
  if fields.active ~= '1' or from > ctx.now or till > 0 and till <= ctx.now then return false end
  if (above >= 0 or below >= 0) and number_of(own, 'risk_rev') ~= own.rev then return false end
  return not (above >= 0 and number_of(own, 'risk_score') <= above or below >= 0 and number_of(own, 'risk_score') >= below)
end
