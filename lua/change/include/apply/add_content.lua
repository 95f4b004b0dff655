-- add_content(own, answer): add to an answer what is to be applied.
local function add_content(own, answer)
  local fields = {}
  for i, name in ipairs({ 'type', 'version', 'description', 'resources', 'rollback_strategy', 'timeout_ms', 'priority' }) do
    fields[2 * i - 1], fields[2 * i] = name, text_of(own, name)
  end
  answer[#answer + 1] = fields
  answer[#answer + 1] = redis.call('GET', params .. own.id) or ''
end
