-- before_person(chain, via, person): the parts of a chain and of its policies that stand before this person; nil if it is not in the chain.
local function before_person(chain, via, person)
  local left, left_via, rest = '', '', via
  for one in string.gmatch(chain, '[^>]+') do  -- at most 4: delegation_depth
    if one == person then return left, left_via end
    local name = string.match(rest, '^,([^,]*)')
    left, left_via, rest = left .. '>' .. one, left_via .. ',' .. name, string.sub(rest, #name + 2)
  end
end
