-- fits_delegation(ctx, own, fields): whether a delegation holds now, and for this change.
local function fits_delegation(ctx, own, fields)
  local from, till, above, below = tonumber(fields.from_ms), tonumber(fields.until_ms), tonumber(fields.risk_above), tonumber(fields.risk_below)
  if fields.active ~= '1' or from > ctx.now or till > 0 and till <= ctx.now then return false end
  if (above >= 0 or below >= 0) and number_of(own, 'risk_rev') ~= own.rev then return false end
  if above >= 0 and number_of(own, 'risk_score') <= above or below >= 0 and number_of(own, 'risk_score') >= below then return false end
  return shares_one(fields.types, text_of(own, 'type')) and shares_one(fields.tags, text_of(own, 'tags'))
    and shares_one(fields.resources, text_of(own, 'resources'))
end
