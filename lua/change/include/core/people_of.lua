-- people_of(one): who has or had a request: its reviewer, and those who have delegated it, as `user:…`.
local function people_of(one)
  local names = { one.reviewer }
  for person in string.gmatch(one.chain, '[^>]+') do names[#names + 1] = 'user:' .. person end  -- at most 4: delegation_depth
  return names
end
