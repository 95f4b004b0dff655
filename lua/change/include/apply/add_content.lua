-- add_content(answer): add to an answer what is to be applied.
local function add_content(answer)
  local names, fields = { 'type', 'version', 'description', 'resources', 'rollback_strategy', 'timeout_ms', 'priority' }, {}
  local row = redis.call('HMGET', change .. id, unpack(names))  -- at most 7: names
  for i, name in ipairs(names) do fields[2 * i - 1], fields[2 * i] = name, row[i] end
  answer[#answer + 1] = fields
  answer[#answer + 1] = redis.call('GET', params .. id) or ''
end
