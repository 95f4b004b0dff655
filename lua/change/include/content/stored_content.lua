-- stored_content(own): the parts of the content of a change, as they are stored: type, version, description, parameters, resources (separated
-- by commas), rollback_strategy, timeout_ms, priority.
local function stored_content(own)
  local row = redis.call('HMGET', change .. own.id, 'type', 'version', 'description', 'resources', 'rollback_strategy', 'timeout_ms', 'priority')
  table.insert(row, 4, redis.call('GET', params .. own.id))
  return row
end
