-- delegation_text(given): a delegation as it is stored.
local function delegation_text(given)
  local function list(names) return table.concat(names or {}, ',') end
  return table.concat({ 'to=' .. given.to, 'from_ms=' .. string.format('%.0f', given.from_ms or 0),
    'until_ms=' .. string.format('%.0f', given.until_ms or 0), 'types=' .. list(given.types), 'tags=' .. list(given.tags),
    'resources=' .. list(given.resources), 'risk_above=' .. (given.risk_above or -1), 'risk_below=' .. (given.risk_below or -1),
    'cascade=' .. (given.cascade and '1' or '0'), 'active=' .. (given.inactive and '0' or '1') }, ' ')
end
