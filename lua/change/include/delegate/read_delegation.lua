-- read_delegation(person, name): the fields of a delegation by name, all of them texts; or nil.
local function read_delegation(person, name)
  local stored = string.sub(name, 1, 1) ~= '#' and redis.call('HGET', delegations .. person, name)
  return stored and delegation_fields(stored) or nil
end
