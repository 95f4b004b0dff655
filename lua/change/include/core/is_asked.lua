-- is_asked(one, person): whether this person has the request, or has delegated it.
local function is_asked(one, person)
  return one.reviewer == 'user:' .. person or string.find(one.chain .. '>', '>' .. person .. '>', 1, true) ~= nil
end
