-- is_later(made_by, stamp): whether a later item of the same call made the task with the stamp made_by.
local function is_later(made_by, stamp)
  local call, index = string.match(stamp, '^(.*)/(%d+)$')
  local other_call, other_index = string.match(made_by or '', '^(.*)/(%d+)$')
  return other_call == call and tonumber(other_index) > tonumber(index)
end
