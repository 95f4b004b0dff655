-- via_of(name, fields): how a request names the delegation that has led it on: its name and, if an agent has stored it, the person behind it.
local function via_of(name, fields)
  return fields['for'] and name .. ':' .. fields['for'] or name
end
