-- shares_person(one, other): whether one of those who have a request, or have delegated it, has or has delegated another one.
local function shares_person(one, other)
  for person in string.gmatch(other.chain .. '>' .. string.sub(other.reviewer, 6), '[^>]+') do  -- at most 5: delegation_depth and a reviewer
    if is_asked(one, person) then return true end
  end
  return false
end
