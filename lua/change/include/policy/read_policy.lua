-- read_policy(name): the fields of a policy by name, all of them texts, or nil.
local function read_policy(name)
  local stored = redis.call('HGET', policies, name)
  if not stored then return nil end
  local fields = {}
  for field, value in string.gmatch(stored, '([%a_]+)=(%S*)') do fields[field] = value end  -- at most 40: fields of a policy
  return fields
end
