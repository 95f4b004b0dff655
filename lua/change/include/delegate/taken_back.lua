-- taken_back(one): the reviewer, the chain and the delegations of a request that the actor takes back, or that its delegate gives back.
local function taken_back(one)
  local person = string.find(one.chain .. '>', '>' .. actor .. '>', 1, true) and actor or string.match(one.chain, '^.*>([^>]+)$')
  return 'user:' .. person, before_person(one, person)
end
