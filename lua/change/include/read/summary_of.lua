-- summary_of(own): what a list tells of a change, as pairs.
local function summary_of(own)
  local names = { 'type', 'description', 'author', 'priority', 'review_priority', 'risk_score', 'risk_level', 'created_ms', 'submitted_ms' }
  local row, fields = redis.call('HMGET', change .. own.id, unpack(names)), {}  -- at most 9: names
  for i, name in ipairs(names) do fields[2 * i - 1], fields[2 * i] = name, row[i] or '' end
  return fields
end
