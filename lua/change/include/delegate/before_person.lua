-- before_person(one, person): the parts of the chain of a request, and of its delegations, that stand before this person.
local function before_person(one, person)
  local left, left_via, rest = '', '', one.via
  for name in string.gmatch(one.chain, '[^>]+') do  -- at most 4: delegation_depth
    if name == person then return left, left_via end
    local led = string.match(rest, '^>([^>]*)')
    left, left_via, rest = left .. '>' .. name, left_via .. '>' .. led, string.sub(rest, #led + 2)
  end
end
