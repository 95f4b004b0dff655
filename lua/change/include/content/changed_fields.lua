-- changed_fields(before, content): the parts in which two contents differ, separated by commas.
local function changed_fields(before, content)
  local order = { 'type', 'version', 'description', 'parameters', 'resources', 'rollback_strategy', 'timeout', 'priority' }
  local found = {}
  for i, name in ipairs(order) do
    if before[i] ~= content[i] then found[#found + 1] = name end
  end
  return table.concat(found, ',')
end
