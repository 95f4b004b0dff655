-- cascades(one, via): whether a request may be delegated on, by the delegation that led to its reviewer. via: the delegations that led here.
local function cascades(one, via)
  local giver, name = string.match(one.chain, '^.*>([^>]+)$'), string.match(via, '^.*,([^,]*)$')
  local fields = giver and name ~= '' and read_delegation(giver, name)
  return not fields or fields.cascade == '1'
end
