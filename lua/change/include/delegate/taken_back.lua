-- taken_back(one, via): the reviewer, the chain and the policies of a request that the actor takes back, or that its delegate gives back.
local function taken_back(one, via)
  local person = string.find(one.chain .. '>', '>' .. actor .. '>', 1, true) and actor or string.match(one.chain, '^.*>([^>]+)$')
  return 'user:' .. person, before_person(one.chain, via, person)
end
