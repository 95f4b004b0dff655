-- delegation_text(own): a delegation as it is stored.
local function delegation_text(own)
  local function list(names) return table.concat(names or {}, ',') end
  return table.concat({ 'to=' .. own.to, 'from_ms=' .. string.format('%.0f', own.from_ms or 0),
    'until_ms=' .. string.format('%.0f', own.until_ms or 0), 'types=' .. list(own.types), 'tags=' .. list(own.tags),
    'resources=' .. list(own.resources), 'risk_above=' .. (own.risk_above or -1), 'risk_below=' .. (own.risk_below or -1),
    'cascade=' .. (own.cascade and '1' or '0'), 'active=' .. (own.inactive and '0' or '1') }, ' ')
end
