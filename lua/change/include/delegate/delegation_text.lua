-- delegation_text(given, behind): a delegation as it is stored. behind: for whom an agent stores it, or nil.
local function delegation_text(given, behind)
  local function list(names) return table.concat(names or {}, ',') end
  return table.concat({ 'to=' .. given.to, 'from_ms=' .. string.format('%.0f', given.from_ms or 0),
    'until_ms=' .. string.format('%.0f', given.until_ms or 0), 'types=' .. list(given.types), 'tags=' .. list(given.tags),
    'resources=' .. list(given.resources), 'risk_above=' .. (given.risk_above or -1), 'risk_below=' .. (given.risk_below or -1),
    'cascade=' .. (given.cascade and '1' or '0'), 'active=' .. (given.inactive and '0' or '1'), behind and 'for=' .. behind }, ' ')
end
