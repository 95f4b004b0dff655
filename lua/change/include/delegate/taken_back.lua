-- taken_back(one): the reviewer and the chain of a request that its delegate gives back, or that the actor takes back.
local function taken_back(one)
  local people = {}
  for person in string.gmatch(one.chain, '[^>]+') do people[#people + 1] = person end  -- at most 4: delegation_depth
  local at = #people
  for i, person in ipairs(people) do  -- at most 4: delegation_depth
    if person == actor then at = i end
  end
  local chain = table.concat(people, '>', 1, at - 1)
  return 'user:' .. people[at], chain ~= '' and '>' .. chain or ''
end
