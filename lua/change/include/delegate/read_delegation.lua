-- read_delegation(person, name): the fields of a delegation by name, all of them texts; or nil.
local function read_delegation(person, name)
  local stored = string.sub(name, 1, 1) ~= '#' and redis.call('HGET', delegations .. person, name)
  if not stored then return nil end
  local fields = {}
  for field, value in string.gmatch(stored, '([%a_]+)=(%S*)') do fields[field] = value end  -- at most 11: fields of a delegation
  return fields
end
