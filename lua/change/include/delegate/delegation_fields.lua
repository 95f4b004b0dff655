-- delegation_fields(stored): the fields of a delegation as it is stored, all of them texts.
local function delegation_fields(stored)
  local fields = {}
  for field, value in string.gmatch(stored, '([%a_]+)=(%S*)') do fields[field] = value end  -- at most 12: fields of a delegation
  return fields
end
