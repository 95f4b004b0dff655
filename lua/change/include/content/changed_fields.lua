-- changed_fields(own, names): the fields of the content in which this call differs from what is stored, separated by commas.
local function changed_fields(own, names)
  local order = { 'type', 'version', 'description', 'resources', 'rollback_strategy', 'timeout_ms', 'priority' }
  local row, found = redis.call('HMGET', change .. own.id, unpack(order)), {}  -- at most 7: order
  local new = { change_type, version, description, names, rollback_strategy, string.format('%d', timeout_ms), string.format('%d', priority) }
  for i, name in ipairs(order) do
    if row[i] ~= new[i] then found[#found + 1] = name == 'timeout_ms' and 'timeout' or name end
  end
  if redis.call('GET', params .. own.id) ~= parameters then found[#found + 1] = 'parameters' end
  return table.concat(found, ',')
end
